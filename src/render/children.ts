/** Renders child runs: as lines of a timeline, and as the list of what a run waits for. */
import type { ChildEvents } from "../core/child.ts";
import type { EventOf } from "../core/event.ts";
import type { GoneOn, ShownChild } from "../operations/child-views.ts";
import type { Shown } from "../operations/views.ts";
import { grantWords } from "./grants.ts";
import { type Paint, type Style, fittedTable } from "./paint.ts";
import { relative, short } from "./words.ts";

/** The line of an event about a child run; null if another line already says it. */
export function childLine(
  entry: { readonly [K in keyof ChildEvents]: EventOf<K> }[keyof ChildEvents],
  { paint, name }: { readonly paint: Paint; readonly name: (call: string) => string },
): { readonly says: string } | null {
  const mark = paint("cyan", "▶");
  switch (entry.kind) {
    case "ChildDispatched": {
      const { child, call, agent, grant, left } = entry;
      const number = entry.try === 1 ? "" : `, try ${entry.try}`;
      const alone = left === true ? ", and leaves it alone" : "";
      return {
        says: `${mark} ${name(call)} dispatches ${agent} as ${child}${number}, with ${grantWords(grant)}${alone}`,
      };
    }
    case "ChildStarted":
    case "ChildResumed":
      return null;
    case "ChildContinued": {
      const { call, child, dispatch, why } = entry;
      return {
        says: `${paint("yellow", "!")} ${name(call)} takes ${child} from its process, dispatch ${dispatch}: ${why}`,
      };
    }
    case "ChildSuperseded":
      return {
        says: `${paint("yellow", "!")} ${name(entry.call)} waits ${entry.awaited === true ? "for its end" : "no longer"}: ${entry.why}`,
      };
    case "ChildAskedToStop":
      return { says: `asks ${entry.child} to stop` };
    case "ChildNeverMade":
      return { says: `${entry.child} was never made` };
  }
}

/** The child runs that a run waits for, with the call and the deadline of each. */
export function renderChildren({ children }: Pick<Shown, "children">, page: Style): string[] {
  const { now, paint } = page;
  if (children.length === 0) return [];
  const columns = [
    { title: "CHILD RUN" },
    { title: "AGENT" },
    { title: "CALL" },
    { title: "NEEDED" },
    { title: "HOLDS" },
  ] as const;
  const rows = children.map((child) => [
    child.run,
    child.agent,
    callOf(child),
    needed(child, now),
    grantWords(child.grant) || "-",
  ]);
  return ["", paint("dim", "waits for"), ...fittedTable(columns, rows, page)];
}

export const goneOnWords = ({ try: number, tries, after }: GoneOn): string =>
  `try ${number} of ${tries} after: ${after}`;

function callOf({ call, dispatch, again, ...child }: ShownChild): string {
  const tries = child.try === 1 ? "" : `, try ${child.try}`;
  const on = again == null ? "" : `, ${goneOnWords({ ...again, after: short(again.after, 80) })}`;
  return `${call}${tries}${dispatch === 1 ? "" : `, dispatch ${dispatch}`}${on}`;
}

/** When the child is needed, or why it is not. After it went on, also until when an earlier request of it may land. */
function needed(child: ShownChild, now: number) {
  const past = (text: string) => ({ text, ink: "yellow" as const });
  if (child.late) return past("its end: it was too late");
  if (child.superseded) return past("no more: it was too late");
  if (child.asked) return past("no more: it was asked to stop");
  if (child.deadline === null) return "-";
  const due = relative(child.deadline, now);
  const { settlesAt } = child;
  if (settlesAt === null || settlesAt <= now) return due;
  return `${due}; an earlier request of it may still land, it is probed ${relative(settlesAt, now)}`;
}
