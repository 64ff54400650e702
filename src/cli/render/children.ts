/** Renders child runs: as lines of a timeline, and as the list of what a run waits for. */
import type { ChildEvents } from "../../core/child.ts";
import type { EventOf } from "../../core/event.ts";
import type { Shown } from "../../operations/views.ts";
import { grantWords } from "../commands/budget.ts";
import { type Paint, type Style, fittedTable } from "../terminal/paint.ts";
import { relative } from "./words.ts";

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
      return null;
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
  const rows = children.map(({ run, agent, call, deadline, superseded, late, asked, grant, ...each }) => [
    run,
    agent,
    each.try === 1 ? call : `${call}, try ${each.try}`,
    late
      ? { text: "its end: it was too late", ink: "yellow" as const }
      : superseded
        ? { text: "no more: it was too late", ink: "yellow" as const }
        : asked
          ? { text: "no more: it was asked to stop", ink: "yellow" as const }
          : deadline === null
            ? "-"
            : relative(deadline, now),
    grantWords(grant) || "-",
  ]);
  return ["", paint("dim", "waits for"), ...fittedTable(columns, rows, page)];
}
