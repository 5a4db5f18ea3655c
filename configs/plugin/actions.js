// The hooks around a tool call: what memory holds about it, before; the fix of its error, after. For clients that call
// their tools by other names than the hooks know.
import { existsSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";

const MOST_CALLS = 1_000;
const TOOLS = { bash: "Bash", exec: "Bash", edit: "Edit", write: "Write", apply_patch: "apply_patch" };

// Call → what is read behind its result, because the model sees nothing before that. OpenClaw loads a copy of the plugin
// for its hooks and another for what changes results, so both look in one place.
const notes = (globalThis[Symbol.for("mcp-memory.notes")] ??= new Map());

// `hook` runs one and returns its answer.
export function watchActions(hook) {
  const said = (tool, args) => {
    const path = args.file_path ?? args.filePath ?? args.path;
    return { tool_name: TOOLS[tool], tool_input: typeof path === "string" ? { ...args, file_path: path } : args };
  };
  return {
    // Why the call is refused; undefined lets it through.
    async before(id, tool, args, session) {
      if (!TOOLS[tool] || !args) return undefined;
      const answer = await hook("before-tool", { ...session, ...said(tool, args) });
      if (notes.size >= MOST_CALLS) notes.delete(notes.keys().next().value);
      if (answer.additionalContext) notes.set(id, answer.additionalContext);
      return answer.permissionDecisionReason;
    },
    // What the agent shall read behind the result; empty for nothing. `error`: what a call that failed has printed.
    async after(id, tool, args, session, error) {
      const told = notes.get(id);
      notes.delete(id);
      const asks = error && TOOLS[tool];
      const fix = asks && (await hook("after-tool", { ...session, ...said(tool, args ?? {}), error })).additionalContext;
      return [told, fix].filter(Boolean).join("\n");
    },
  };
}

// The repository in which a call acts, as far as it names a folder or file in full.
export function repositoryOf(args) {
  const { workdir, filePath, path } = args ?? {};
  let folder = [workdir, filePath, path].find((each) => typeof each === "string" && isAbsolute(each));
  while (folder && !existsSync(join(folder, ".git"))) folder = folder === dirname(folder) ? undefined : dirname(folder);
  return folder;
}
