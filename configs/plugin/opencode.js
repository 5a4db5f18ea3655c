// Puts memory before an opencode agent: with its prompt, before and after a call of a tool, and for its sub-agents. The
// memory tools come from the server beside this plugin in opencode.json.
import { watchActions } from "./actions.js";
import { hookAnswer } from "./command.js";

const COMMAND = "/usr/bin/env -u PYTHONHOME -u PYTHONPATH mcp-memory hook EVENT --client opencode";

export default async function memory({ directory, client }, { command = COMMAND } = {}) {
  const hook = (event, said) => hookAnswer(command.replace("EVENT", event), said);
  const actions = watchActions(hook);
  const parents = new Map(); // session → the one that started it, if it is a sub-agent's

  const session = async (id, agent) => {
    if (!parents.has(id)) {
      const found = await client.session.get({ path: { id } }).catch(() => undefined);
      parents.set(id, found?.data?.parentID);
    }
    const parent = parents.get(id);
    return { session_id: parent ?? id, cwd: directory, ...(parent && { agent_id: id, agent_type: agent }) };
  };

  return {
    "chat.message": async ({ sessionID, agent }, { parts }) => {
      const said = parts.filter((part) => part.type === "text" && !part.synthetic);
      if (said.length === 0) return;
      const prompt = said.map((part) => part.text).join("\n");
      const { additionalContext } = await hook("prompt", { ...(await session(sessionID, agent)), prompt });
      const last = said.at(-1);
      if (additionalContext) parts.push({ ...last, id: `${last.id}memory`, text: additionalContext, synthetic: true });
    },
    "tool.execute.before": async ({ tool, sessionID, callID }, { args }) => {
      const refusal = await actions.before(callID, tool, args, await session(sessionID));
      if (refusal) throw new Error(refusal);
    },
    "tool.execute.after": async ({ tool, sessionID, callID, args }, result) => {
      const error = result.metadata?.exit > 0 && result.output;
      const told = await actions.after(callID, tool, args, await session(sessionID), error);
      if (told) result.output += `\n${told}`;
    },
    "experimental.session.compacting": async ({ sessionID }) => void (await hook("pre-compact", await session(sessionID))),
  };
}
