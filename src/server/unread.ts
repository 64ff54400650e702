/**
 * Closes connections whose client takes nothing of its answer. What such a client was sent waits in the buffers of the
 * process and of the system, and its place counts against the readers that a server admits. A client that takes a little
 * now and then is slow, and stays.
 */
import type { ServerResponse } from "node:http";
import type { Clock } from "../ports/world.ts";
import type { UnreadStream } from "../api/streams/open-streams.ts";

interface Watched {
  readonly after: Clock["after"];
  readonly seconds: number;
  readonly onUnread: (closed: UnreadStream) => void;
}

/** Looks within the time in which a client has to take something. */
const LOOKS = 2;

/** Watches one answer until its connection is closed or it is complete. */
export function closeIfUnread(response: ServerResponse, { after, seconds, onUnread }: Watched): void {
  const { socket, req } = response;
  if (socket === null) return;
  const lookMs = (1_000 * seconds) / LOOKS;
  /** What the client had taken at the last look; null: nothing waited for it. */
  let before: string | null = null;
  /** How many looks in a row found that again. The first of them may come directly after the client took something. */
  let same = 0;
  const look = (): void => {
    const now = socket.writableLength === 0 ? null : takenOf(socket);
    same = now !== null && now === before ? same + 1 : 0;
    if (same === LOOKS) {
      onUnread({ run: /\/runs\/([a-z0-9-]{1,51})(?:\/|$)/.exec(req.url ?? "")?.[1] ?? null, seconds });
      socket.destroy();
      return;
    }
    before = now;
    stop = after(lookMs, look);
  };
  let stop = after(lookMs, look);
  response.once("close", () => stop());
}

/** Changes with each byte that the system takes: of what Node has written, and of what is under way. */
function takenOf(socket: { readonly bytesWritten: number; readonly writableLength: number }): string {
  const { bytesWritten, writableLength } = socket;
  const { _handle: handle } = socket as { readonly _handle?: { readonly writeQueueSize?: number } | null };
  return `${bytesWritten - writableLength} ${handle?.writeQueueSize ?? 0}`;
}
