/** Reads server-sent events from the chunks of a response. A chunk may end in the middle of a message. */

export interface ServerEvent {
  readonly id: string;
  readonly event: string;
  readonly text: string;
}

/** Returns a function that takes chunks in order and returns the messages that each completes. */
export function eventReader(): (chunk: string) => readonly ServerEvent[] {
  let rest = "";
  return (chunk) => {
    const blocks = `${rest}${chunk}`.split("\n\n");
    rest = blocks.pop() ?? "";
    return blocks.flatMap((block) => messageIn(block) ?? []);
  };
}

/** Null for a comment, which only keeps the connection open. */
function messageIn(block: string): ServerEvent | null {
  let [id, event] = ["", "message"];
  const lines: string[] = [];
  for (const line of block.split("\n")) {
    const [, field, value = ""] = /^(id|event|data): ?(.*)$/.exec(line) ?? [];
    if (field === "id") id = value;
    if (field === "event") event = value;
    if (field === "data") lines.push(value);
  }
  return lines.length === 0 ? null : { id, event, text: lines.join("\n") };
}
