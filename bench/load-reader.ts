/** A reader of the event stream of one run, as a page or a program has it: server-sent events, with reconnects. */

/** What a reader took from its stream. */
export interface Read {
  readonly run: string;
  /** The version of each commit, in the order in which it came. */
  readonly versions: readonly number[];
  /** All events of these commits. */
  readonly events: number;
  /** Whether the server said that the run has ended. */
  readonly hasEnded: boolean;
  readonly connections: number;
}

/** Reads until the run has ended. It breaks its connection off after `breaksAfter` commits, and comes back. */
export async function readRun(
  url: string,
  of: { readonly run: string; readonly breaksAfter: number; readonly signal: AbortSignal },
): Promise<Read> {
  const versions: number[] = [];
  let [events, connections, hasEnded] = [0, 0, false];
  while (!hasEnded && !of.signal.aborted) {
    connections += 1;
    const connection = new AbortController();
    const since = versions.at(-1);
    const headers = { accept: "text/event-stream", ...(since === undefined ? {} : { "last-event-id": String(since) }) };
    const signal = AbortSignal.any([of.signal, connection.signal]);
    const response = await fetch(`${url}/runs/${of.run}/events`, { headers, signal });
    if (!response.ok || response.body === null) throw new Error(`the stream of ${of.run} is ${response.status}`);
    for await (const message of messagesIn(response.body)) {
      hasEnded = message.event === "end";
      if (message.event !== "message") continue;
      versions.push(Number(message.id));
      events += (JSON.parse(message.events) as readonly unknown[]).length;
      if (connections === 1 && versions.length === of.breaksAfter) break;
    }
    connection.abort();
  }
  return { run: of.run, versions, events, hasEnded, connections };
}

interface Message {
  readonly event: string;
  readonly id: string;
  /** JSON. */
  readonly events: string;
}

async function* messagesIn(body: AsyncIterable<Uint8Array>): AsyncGenerator<Message> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of body) {
    text += decoder.decode(bytes, { stream: true });
    const whole = text.split("\n\n");
    text = whole.pop() ?? "";
    for (const block of whole) {
      const fields = new Map(block.split("\n").map((line) => [line.slice(0, line.indexOf(":")), valueOf(line)]));
      const events = fields.get("data");
      if (events !== undefined) yield { event: fields.get("event") ?? "message", id: fields.get("id") ?? "", events };
    }
  }
}

const valueOf = (line: string): string => line.slice(line.indexOf(":") + 1).trimStart();
