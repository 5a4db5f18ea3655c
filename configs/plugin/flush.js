// The silent turn before a compaction. OpenClaw gives it one tool, `write`, which appends to one file of the workspace;
// what it has added there becomes notes.
import { readFileSync } from "node:fs";
import { join } from "node:path";

const MOST_NOTES = 30;
const LATEST = 6; // messages; a compaction keeps some of them
const KINDS = ["decision", "preference", "fact", "fix", "lesson", "commitment", "log"];
const ENTRY = /^\s*[-*]\s+(?:\**([a-z]+)\**\s*:)?\**\s*(.*)$/i;

const fileOf = (day) => `memory/${day}.md`;
const today = (nowMs) => new Date(nowMs ?? Date.now()).toISOString().slice(0, 10);

// OpenClaw's own thresholds, so that the turn comes when its own memory would have had it.
export function flushPlan(cfg, nowMs) {
  const wanted = cfg?.agents?.defaults?.compaction?.memoryFlush ?? {};
  if (wanted.enabled === false) return null;
  const file = fileOf(today(nowMs));
  return {
    softThresholdTokens: wanted.softThresholdTokens ?? 4_000,
    forceFlushTranscriptBytes: bytes(wanted.forceFlushTranscriptBytes) ?? 2_097_152,
    reserveTokensFloor: 20_000,
    model: wanted.model,
    prompt:
      `The context of this session is about to be compacted. Append to ${file} whatever a later session would miss: ` +
      "decisions and their reasons, the person's preferences and corrections, fixes that worked, facts with numbers " +
      "and names, and where the work stands. One fact a line, complete in itself, as `- KIND: TEXT`; KIND is one of " +
      `${KINDS.join(", ")}. Each line goes into long-term memory. Leave out what stands in that file already, and ` +
      "passwords and keys. Say nothing to the person about this.\nThen answer with NO_REPLY alone.",
    systemPrompt: "A turn to store what matters before the context is compacted. Answer with NO_REPLY alone.",
    relativePath: file,
  };
}

// What is in the turn's file. Empty where we cannot see it, as in a sandbox.
export function writtenIn(workspaceDir) {
  const file = fileOf(today());
  try {
    return { file, text: readFileSync(join(workspaceDir, file), "utf8") };
  } catch {
    return { file, text: "" };
  }
}

// What tells a session's latest messages from all others.
export const marksOf = (messages) => (messages ?? []).slice(-LATEST).map(({ role, timestamp }) => `${role}@${timestamp}`);

// The entries that were added: arguments of memory_append.
export function addedNotes(before, now) {
  const isSame = before.file === now.file && now.text.startsWith(before.text);
  const notes = [];
  for (const line of (isSame ? now.text.slice(before.text.length) : "").split("\n")) {
    const [, named, content] = ENTRY.exec(line) ?? [];
    const kind = named?.toLowerCase();
    if (content && KINDS.includes(kind)) notes.push({ kind, content });
    else if (content) notes.push({ content: named ? `${named}: ${content}` : content });
  }
  return notes.slice(0, MOST_NOTES);
}

// A number, or a text such as "2mb".
function bytes(size) {
  const [, number, unit] = /^([\d.]+)\s*(b|kb|mb|gb)?$/i.exec(String(size ?? "").trim()) ?? [];
  const power = ["b", "kb", "mb", "gb"].indexOf((unit ?? "b").toLowerCase());
  return number === undefined ? undefined : Math.floor(Number(number) * 1024 ** power);
}
