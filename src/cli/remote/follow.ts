/** Follows a run over HTTP until it ends, needs a human or is interrupted: page by page, each waits for news. */
import { type FollowEnd, type FollowOptions, MAY_NEED_PERSON, needsPerson } from "../terminal/follow.ts";
import { labelWords } from "../../render/outage.ts";
import type { Requested } from "./outcomes.ts";

/** How long one request waits for events. A run may begin to need a human without one. */
const POLL_SECONDS = 5;

type IsAttended = () => Promise<boolean>;

/** `isAttended`: whether a process drives the runs of the server now. */
export async function followOver(
  perform: Requested,
  options: FollowOptions,
  isAttended: IsAttended,
): Promise<FollowEnd> {
  try {
    return await followed(perform, options, isAttended);
  } catch (error) {
    if (!options.stop.aborted) throw error;
    return { kind: "stopped", shown: null };
  }
}

async function followed(
  perform: Requested,
  { run, stop, onEntries, onLook, onLive }: FollowOptions,
  isAttended: IsAttended,
): Promise<FollowEnd> {
  const asked = { signal: stop };
  for (let [place, wait] = [{ after: 0, cursor: "0" }, 0]; ; wait = POLL_SECONDS) {
    const at = onLive === undefined ? { after: place.after } : { deltas: true, cursor: place.cursor };
    const page = await perform("timeline", { run, wait, ...at }, asked);
    if (page.kind === "missing") return { kind: "ended", shown: null };
    const { live, entries, next, more, inProgress } = page;
    if (live !== undefined && live.reset !== null) onLive?.({ reset: live.reset, deltas: [] });
    if (entries.length > 0) onEntries(entries);
    if (live !== undefined && live.deltas.length > 0) onLive?.({ reset: null, deltas: live.deltas });
    place = { after: next, cursor: live?.cursor ?? `${next}` };
    if (more) continue;
    const found = await perform("show", { run }, asked);
    const shown = found.kind === "shown" ? found.shown : null;
    if (!inProgress || shown === null) return { kind: "ended", shown };
    if (MAY_NEED_PERSON.has(shown.status) && shown.resumable && needsPerson(shown)) return { kind: "blocked", shown };
    // An invocation that holds the run drives it.
    onLook(labelWords(shown, Date.now()), !shown.resumable || (await isAttended()));
  }
}
