// Puts memory before an OpenClaw agent. `mcp-memory hook` knows what; this only says when. Needs no package of npm.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";

const WITHIN_MS = 2_000; // the command gives itself up after 1.5 s at most; a gateway that ends waits two in all
const MOST_CHARS = 1_000_000;
const MOST_SESSIONS = 1_000;
const DATABASE = "openclaw-agent.sqlite";

const manifest = JSON.parse(readFileSync(new URL("./openclaw.plugin.json", import.meta.url), "utf8"));

export default {
  id: manifest.id,
  name: manifest.name,
  description: manifest.description,
  register(api) {
    const line = api.pluginConfig?.command ?? manifest.configSchema.properties.command.default;
    const hook = (event, said) => answer(line.replace("EVENT", event), said);
    const starts = new Map(); // session → what it was told at its start, the same text in each turn's system prompt
    let flush = ""; // empty where memory cannot be written

    // OpenClaw keeps an agent's sessions in one database, in a folder that it alone knows.
    const session = (id, agentId) => {
      const said = { session_id: id };
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

    api.registerMemoryCapability({
      // OpenClaw gives the agent a silent turn with this prompt before it compacts, once for each compaction.
      flushPlanResolver: ({ cfg, nowMs, contextWindowTokens }) => plan(flush, cfg, nowMs, contextWindowTokens),
    });
    api.on("gateway_start", lookWhetherToFlush);
    api.on("session_start", async (event) => {
      starts.delete(event.sessionId);
      await lookWhetherToFlush();
    });
    api.on("before_prompt_build", async (event, ctx) => {
      if (ctx.trigger === "memory" || !ctx.sessionId) return undefined;
      const said = session(ctx.sessionId, ctx.agentId); // no folder: its workspace is no project, so it sees all of them
      const told = await start(said);
      const prompt = await hook("prompt", { ...said, prompt: event.currentUserMessage ?? event.prompt });
      return { ...(told && { appendSystemContext: told }), ...(prompt && { prependContext: prompt }) };
    });
    api.on("agent_end", async (_event, ctx) => {
      if (ctx.trigger === "memory" || !ctx.sessionId) return;
      await Promise.all([hook("stop", session(ctx.sessionId, ctx.agentId)), lookWhetherToFlush()]);
    });
    api.on("before_compaction", async (_event, ctx) => {
      if (ctx.sessionId) await hook("pre-compact", session(ctx.sessionId, ctx.agentId));
    });
    api.on("session_end", async (event, ctx) => {
      starts.delete(event.sessionId);
      await hook("session-end", session(event.sessionId, ctx?.agentId));
    });
  },
};

// What the command wants the agent to know; empty with any fault, as if we were not there.
function answer(command, said) {
  return new Promise((resolve) => {
    // A group of its own, so that nothing of it is left when its time is up.
    const child = spawn("/bin/sh", ["-c", command], { stdio: ["pipe", "pipe", "ignore"], detached: true });
    let out = "";
    const giveUp = () => {
      try {
        process.kill(-child.pid, "SIGKILL");
      } catch {
        // it has ended
      }
      child.stdout.destroy();
      end("");
    };
    const timer = setTimeout(giveUp, WITHIN_MS);
    const end = (text) => {
      clearTimeout(timer);
      resolve(text);
    };
    child.stdout.setEncoding("utf8").on("data", (part) => {
      out += part;
      if (out.length > MOST_CHARS) giveUp();
    });
    child.on("error", () => end(""));
    child.on("close", () => end(contextIn(out)));
    child.stdin.on("error", () => {}); // it may end without reading
    child.stdin.end(JSON.stringify(said));
  });
}

function contextIn(out) {
  try {
    const text = JSON.parse(out).hookSpecificOutput.additionalContext;
    return typeof text === "string" ? text : "";
  } catch {
    return "";
  }
}

// A number, or a text such as "2mb".
function bytes(size) {
  const [, number, unit] = /^([\d.]+)\s*(b|kb|mb|gb)?$/i.exec(String(size ?? "").trim()) ?? [];
  const power = ["b", "kb", "mb", "gb"].indexOf((unit ?? "b").toLowerCase());
  return number === undefined ? undefined : Math.floor(Number(number) * 1024 ** power);
}

// OpenClaw's own thresholds, so that the turn comes when its own memory would have had it.
function plan(prompt, cfg, nowMs, contextWindowTokens) {
  const wanted = cfg?.agents?.defaults?.compaction?.memoryFlush ?? {};
  if (!prompt || wanted.enabled === false) return null;
  const day = new Date(nowMs ?? Date.now()).toISOString().slice(0, 10);
  return {
    softThresholdTokens: wanted.softThresholdTokens ?? 4_000,
    forceFlushTranscriptBytes: bytes(wanted.forceFlushTranscriptBytes) ?? 2_097_152,
    reserveTokensFloor: 20_000,
    model: wanted.model,
    prompt: `${prompt}\nThen answer with NO_REPLY alone.`,
    systemPrompt: "A turn to store what matters before the context is compacted. Answer with NO_REPLY alone.",
    relativePath: `memory/${day}.md`,
  };
}
