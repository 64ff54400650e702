/** What becomes of held calls whose run goes on without what holds them, as changes of the state. */
import type { HeldBy } from "../held-by.ts";
import { inline } from "../message.ts";
import type { OpenCall, State } from "../state.ts";
import type { WaitEvents } from "../wait.ts";
import { childIn, heldWait, waitIn } from "./held-calls.ts";
import { settleCall } from "./open-calls.ts";
import { unknownWork } from "./outside.ts";

/** How a call that something holds is settled when the run is to end; null: it stays as it is. */
const SETTLED = {
  /** Its child has reported, and no model will judge the answer any more. */
  child: (open) => {
    const report = childIn(open)?.report;
    if (report === undefined) return null;
    const failed = unknownWork(open.outside).length > 0 ? "unknown" : "failed";
    return { outcome: report.status === "completed" ? "succeeded" : failed, value: report.value };
  },
  wait: (open) =>
    heldWait(open) === undefined
      ? null
      : { outcome: "failed", value: inline("StoppedWaiting: the run has to stop, so it waits no longer") },
} satisfies Record<
  Exclude<HeldBy["by"], "gate">,
  (open: OpenCall) => Pick<Parameters<typeof settleCall>[2], "outcome" | "value"> | null
>;

/** Settles the calls that something of this kind holds. */
export function settleHeld(state: State, by: keyof typeof SETTLED, at: number): State {
  return state.open.reduce((next, open) => {
    const settled = SETTLED[by](open);
    return settled === null ? next : settleCall(next, open.call, { ...settled, at });
  }, state);
}

/** What came for calls that wait, and no beat has judged. `name`: of the event, or the call that asked. */
export const unjudgedInputs = ({ open }: State): readonly Pick<WaitEvents["InputIgnored"], "for" | "name" | "by">[] =>
  open.flatMap((each) => {
    const wait = waitIn(each);
    if (wait?.given === undefined || wait.for === "time") return [];
    return [{ for: wait.for, name: wait.for === "event" ? (wait.event ?? "") : each.call, by: wait.given.by }];
  });

/** The call when its outcome is unknown: it judges no report any more, and waits for no child. */
export function withUnknownChild(open: OpenCall): OpenCall {
  const child = childIn(open);
  if (child === undefined) return open;
  const { report: _report, late: _late, ...known } = child;
  return { ...open, heldBy: { ...known, over: true } };
}
