// Puts memory before an OpenClaw agent: its tools, and what `mcp-memory hook` knows. Needs no package of npm.
import { readFileSync } from "node:fs";
import { repositoryOf, watchActions } from "./actions.js";
import { callTool, hookAnswer, hookText } from "./command.js";
import { addedNotes, flushPlan, marksOf, writtenIn } from "./flush.js";
import { isIncognito, scopeOf } from "./scopes.js";
import { promptSection, registerTools } from "./tools.js";

const MOST_SESSIONS = 1_000;
const MOST_FLUSHES = 20;
const DATABASE = "openclaw-agent.sqlite";

const manifest = JSON.parse(readFileSync(new URL("./openclaw.plugin.json", import.meta.url), "utf8"));

export default {
  id: manifest.id,
  name: manifest.name,
  description: manifest.description,
  register(api) {
    const line = api.pluginConfig?.command ?? manifest.configSchema.properties.command.default;
    const hook = (event, said) => hookText(line.replace("EVENT", event), said);
    const actions = watchActions((event, said) => hookAnswer(line.replace("EVENT", event), said));
    const starts = new Map(); // session → what it was told at its start, the same text in each turn's system prompt
    let flushes = []; // silent turns: what their file held before
    let flush = ""; // empty where memory cannot be written

    const scopeIn = (key, agentId) => {
      const owners = api.runtime?.config?.current()?.commands?.ownerAllowFrom;
      const spawnerOf = (child) => {
        try {
          return api.runtime.agent.session.getSessionEntry({ sessionKey: child, agentId })?.spawnedBy;
        } catch {
          return undefined;
        }
      };
      return scopeOf(key, Array.isArray(owners) ? owners : [], spawnerOf);
    };

    // OpenClaw keeps an agent's sessions in one database, in a folder that it alone knows.
    const session = (id, key, agentId) => {
      const said = { session_id: id, project: scopeIn(key, agentId) };
      try {
        const folder = agentId && api.runtime.agent.resolveAgentDir(api.runtime.config.current(), agentId);
        return folder ? { ...said, transcript_path: `${folder}/${DATABASE}#${id}` } : said;
      } catch {
        return said; // another version of OpenClaw: its sessions are not captured, all else goes on
      }
    };
    const lookWhetherToFlush = async () => {
      flush = await hook("flush", {});
    };
    const start = async (said) => {
      const known = starts.get(said.session_id);
      if (known) return known;
      const text = await hook("session-start", said);
      if (starts.size >= MOST_SESSIONS) starts.delete(starts.keys().next().value);
      if (text) starts.set(said.session_id, text); // else the daemon may be up with the next turn
      return text;
    };

    const stdio = line.replace("hook EVENT", "stdio");
    registerTools(api, (tool, args, signal) => callTool(stdio, tool, args, signal), scopeIn);
    api.registerMemoryCapability({
      promptBuilder: promptSection,
      // OpenClaw gives the agent a silent turn with this prompt before it compacts, once for each compaction.
      flushPlanResolver: ({ cfg, nowMs }) => (flush ? flushPlan(cfg, nowMs) : null),
    });
    api.on("gateway_start", lookWhetherToFlush);
    api.on("session_start", async (event) => {
      starts.delete(event.sessionId);
      await lookWhetherToFlush();
    });
    const isOurs = (ctx) => ctx.trigger !== "memory" && ctx.sessionId && !isIncognito(ctx.sessionKey);
    // The silent turn has a session of its own, which nothing ends; it is the session's whose last messages it had.
    const storeFlushed = async (event, ctx) => {
      const marks = marksOf(event.messages);
      const done = flushes.filter((each) => each.workspaceDir === ctx.workspaceDir && marks.some((m) => each.marks.includes(m)));
      if (done.length === 0) return;
      flushes = flushes.filter((each) => !done.includes(each));
      const project = scopeIn(ctx.sessionKey, ctx.agentId);
      for (const { kind, content } of addedNotes(done[0], writtenIn(ctx.workspaceDir))) {
        const note = { content, kind: project && kind === "log" ? undefined : kind, project, session: ctx.sessionId };
        await callTool(stdio, "memory_append", note).catch(() => {}); // refused, such as a password: the others count
      }
    };
    api.on("before_prompt_build", async (event, ctx) => {
      if (ctx.trigger === "memory") {
        const { workspaceDir } = ctx;
        flushes = [...flushes, { workspaceDir, ...writtenIn(workspaceDir), marks: marksOf(event.messages) }].slice(-MOST_FLUSHES);
      } else void storeFlushed(event, ctx);
      if (!isOurs(ctx) || ctx.trigger === "heartbeat") return undefined;
      const said = session(ctx.sessionId, ctx.sessionKey, ctx.agentId); // no folder: its workspace is no project
      const told = await start(said);
      const prompt = await hook("prompt", { ...said, prompt: event.currentUserMessage ?? event.prompt });
      return { ...(told && { appendSystemContext: told }), ...(prompt && { prependContext: prompt }) };
    });
    // Whose notes count for a call: its chat's, else those of the repository in which it acts.
    const acting = (ctx, args) => {
      const said = session(ctx.sessionId, ctx.sessionKey, ctx.agentId);
      return said.project ? said : { ...said, cwd: repositoryOf(args) };
    };
    const refuse = async ({ toolCallId, toolName, params }, ctx) => {
      if (!isOurs(ctx)) return undefined;
      const blockReason = await actions.before(toolCallId, toolName, params, acting(ctx, params));
      return blockReason && { block: true, blockReason };
    };
    const addNotes = async ({ toolCallId, toolName, args, isError, result }, ctx) => {
      if (!isOurs(ctx)) return undefined;
      const hasFailed = isError || result.details?.exitCode > 0 || result.details?.status === "failed";
      const printed = (result.content ?? []).map((part) => part.text ?? "").join("\n");
      const text = await actions.after(toolCallId, toolName, args, acting(ctx, args), hasFailed && printed);
      return text ? { result: { ...result, content: [...(result.content ?? []), { type: "text", text }] } } : undefined;
    };
    // OpenClaw blocks a call whose hook throws.
    api.on("before_tool_call", (event, ctx) => refuse(event, ctx).catch(() => undefined));
    api.registerAgentToolResultMiddleware?.(addNotes, { runtimes: ["openclaw"] });
    api.on("heartbeat_prompt_contribution", async (event, ctx) => {
      const key = event.sessionKey ?? ctx.sessionKey;
      if (!ctx.sessionId || isIncognito(key)) return undefined;
      const due = await hook("heartbeat", session(ctx.sessionId, key, event.agentId ?? ctx.agentId));
      return due ? { appendContext: due } : undefined;
    });
    api.on("agent_end", async (_event, ctx) => {
      if (!isOurs(ctx)) return;
      const stop = hook("stop", session(ctx.sessionId, ctx.sessionKey, ctx.agentId));
      await Promise.all([stop, lookWhetherToFlush()]);
    });
    api.on("before_compaction", async (event, ctx) => {
      void storeFlushed(event, ctx);
      if (isOurs(ctx)) await hook("pre-compact", session(ctx.sessionId, ctx.sessionKey, ctx.agentId));
    });
    // What the session has decided until now stands in a start text that is made anew, in each turn's system prompt.
    api.on("after_compaction", (_event, ctx) => void starts.delete(ctx.sessionId));
    api.on("session_end", async (event, ctx) => {
      starts.delete(event.sessionId);
      const key = event.sessionKey ?? ctx?.sessionKey;
      if (!isIncognito(key)) await hook("session-end", session(event.sessionId, key, ctx?.agentId));
    });
  },
};
