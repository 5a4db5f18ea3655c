// Which memory a session may see: all of it in your own sessions, in a conversation with others that conversation's own.
const CONVERSATION = /^(?:[^:]+:){0,2}(?:group|channel|direct|dm):/i;
const THREAD = /:(?:thread|topic):.*$/i; // its members are those of the chat

// The project of a session's notes: `channel:telegram:group:-1001`, or undefined in a session of your own. `spawnerOf`
// returns the key of the session that started a sub-agent's; one without is shut off from everything.
export function scopeOf(key, owners = [], spawnerOf = () => undefined, depth = 0) {
  const place = /^agent:[^:]+:(.+)$/i.exec(key ?? "")?.[1];
  if (!place) return undefined;
  if (/^(?:subagent|acp):/i.test(place)) {
    const spawner = depth < 8 ? spawnerOf(key) : undefined;
    return spawner ? scopeOf(spawner, owners, spawnerOf, depth + 1) : `channel:${place}`;
  }
  const chat = place.replace(THREAD, "");
  return CONVERSATION.test(chat) && !isOwners(chat, owners) ? `channel:${chat}`.slice(0, 100) : undefined;
}

// Nothing of such a session stays on disk.
export const isIncognito = (key) => /(?:^|:)incognito-/i.test(key ?? "");

// Direct messages of the owner, whom `commands.ownerAllowFrom` names: `telegram:1234` or `1234`.
function isOwners(chat, owners) {
  const [, channel, peer] = /^(?:([^:]+):)?(?:[^:]+:)?(?:direct|dm):(.+)$/i.exec(chat) ?? [];
  if (!peer) return false;
  const names = [`${channel}:${peer}`, peer].map((name) => name.toLowerCase());
  return owners.some((owner) => names.includes(String(owner).toLowerCase()));
}
