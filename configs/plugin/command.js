// Runs `mcp-memory` as a child process. Every fault is an empty answer, as if we were not there.
import { spawn } from "node:child_process";

const HOOK_MS = 2_000; // the command gives itself up after 1.5 s at most; a gateway that ends waits two in all
const TOOL_MS = 40_000; // the first call may have to start the daemon
const MOST_CHARS = 4_000_000;
const VERSION = "2025-06-18"; // of MCP; the daemon speaks newer ones, too

// What `mcp-memory hook` answers; empty for silence.
export async function hookAnswer(line, said) {
  let out = "";
  const ended = await run(line, JSON.stringify(said), HOOK_MS, (part) => void (out += part), true);
  return (ended && parsed(out)?.hookSpecificOutput) || {};
}

// The text that it wants the agent to know.
export async function hookText(line, said) {
  const text = (await hookAnswer(line, said)).additionalContext;
  return typeof text === "string" ? text : "";
}

// What a tool of ours answers over `mcp-memory stdio`, which starts the daemon if it is down: its text, or an error.
export async function callTool(line, name, args, signal) {
  const rpc = (fields) => JSON.stringify({ jsonrpc: "2.0", ...fields }) + "\n";
  const client = { name: "openclaw", version: "1" };
  const greeting = { protocolVersion: VERSION, capabilities: {}, clientInfo: client };
  const lines =
    rpc({ id: 1, method: "initialize", params: greeting }) +
    rpc({ method: "notifications/initialized" }) +
    rpc({ id: 2, method: "tools/call", params: { name, arguments: args } });
  let rest = "";
  let answered;
  const read = (part) => {
    const found = (rest + part).split("\n");
    rest = found.pop();
    answered ??= found.map(parsed).find((message) => message?.id === 2);
    return answered !== undefined;
  };
  await run(line, lines, TOOL_MS, read, false, signal);
  if (answered?.error) throw new Error(answered.error.message);
  const text = answered?.result?.content?.map((part) => part.text ?? "").join("\n");
  if (text === undefined) throw new Error("memory does not answer: mcp-memory status says why; go on without it");
  if (answered.result.isError) throw new Error(text);
  return text;
}

// Resolves at its end with true; with false if its time is up, it says too much, or `signal` aborts. `read` gets what
// it prints and says whether that is enough. `all`: what it is told is complete, so its input is closed.
function run(line, told, withinMs, read, all, signal) {
  return new Promise((resolve) => {
    // A group of its own, so that nothing of it is left when its time is up.
    const child = spawn("/bin/sh", ["-c", line], { stdio: ["pipe", "pipe", "ignore"], detached: true });
    let chars = 0;
    const end = (whole) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", giveUp);
      resolve(whole);
    };
    const giveUp = () => {
      try {
        process.kill(-child.pid, "SIGKILL");
      } catch {
        // it has ended
      }
      child.stdout.destroy();
      end(false);
    };
    const timer = setTimeout(giveUp, withinMs);
    signal?.addEventListener("abort", giveUp, { once: true });
    child.stdout.setEncoding("utf8").on("data", (part) => {
      chars += part.length;
      if (chars > MOST_CHARS) giveUp();
      else if (read(part) === true) {
        child.stdin.end();
        end(true);
      }
    });
    child.on("error", () => end(false));
    child.on("close", () => end(true));
    child.stdin.on("error", () => {}); // it may end without reading
    child.stdin.write(told);
    if (all) child.stdin.end();
  });
}

function parsed(line) {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
