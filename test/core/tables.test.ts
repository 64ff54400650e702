/**
 * The tables of the features are closed. Each line below that expects an error of types is a mistake that the compiler
 * names: without the error, the check of types fails here.
 */
import { expect, test } from "vitest";
import { KERNEL_ACTIONS } from "../../src/core/actions.ts";
import { KERNEL_EVENTS } from "../../src/core/event-rows.ts";
import type { Event, EventKind } from "../../src/core/event.ts";
import type { EventRows, FeatureTables, OwedByFeatures } from "../../src/core/features.ts";
import { HELD } from "../../src/core/calls/held-calls.ts";
import { KERNEL_MESSAGES } from "../../src/core/message-rows.ts";
import { commandsBy } from "../../src/core/outstanding.ts";
import { PHASE_NAMES } from "../../src/core/phases.ts";
import { createKernel } from "../../src/core/transition.ts";
import { KERNEL } from "../../src/features/compose.ts";
import { APPROVAL_EVENTS } from "../../src/features/approvals/core.ts";
import { CHILD_EVENTS } from "../../src/features/children/core.ts";
import { DETACHED_CALL_EVENTS } from "../../src/features/detached-calls/core.ts";
import { MEMORY_EVENTS } from "../../src/features/memory/core.ts";
import { REDRIVE_EVENTS } from "../../src/features/redrive/core.ts";
import { RESULT_SUMMARY_EVENTS } from "../../src/features/result-summaries/core.ts";
import { WAIT_EVENTS } from "../../src/features/waits/core.ts";
import { IN_PHASE, view } from "../support/states/states-and-events.ts";

const { WaitBegun, InputRefused } = WAIT_EVENTS;

/** Each value is a mistake of an author. None of them is used. */
export const mistakes = {
  // @ts-expect-error: a row is missing
  missingRow: { WaitBegun, InputRefused } satisfies EventRows<"WaitBegun" | "InputRefused" | "InputIgnored">,
  // @ts-expect-error: nothing stores this event
  unknownEvent: { WaitBegun, WaitForgotten: WaitBegun } satisfies EventRows<"WaitBegun">,
  // @ts-expect-error: the handler of another event
  otherHandler: { WaitBegun: MEMORY_EVENTS.Recalled } satisfies EventRows<"WaitBegun">,
  // @ts-expect-error: an event without its body
  emptyBody: { kind: "WaitBegun", at: 1 } satisfies Event,
  // @ts-expect-error: a kind that is one letter off
  misspelt: "WaitBegum" satisfies EventKind,
  // @ts-expect-error: a feature that is not in the composition
  unlisted: () => createKernel({ events: MEMORY_EVENTS } satisfies Pick<FeatureTables, "events">),
  // @ts-expect-error: a slot of what is owed is not filled
  unfilled: { gates: () => [], waits: () => [] } satisfies FeatureTables["owed"],
  // @ts-expect-error: a hold without its row
  heldByNothing: { gate: HELD.gate, child: HELD.child } satisfies typeof HELD,
};

test("each event, message and action has its row in one table", () => {
  const tables = [
    KERNEL_EVENTS,
    APPROVAL_EVENTS,
    CHILD_EVENTS,
    DETACHED_CALL_EVENTS,
    MEMORY_EVENTS,
    REDRIVE_EVENTS,
    RESULT_SUMMARY_EVENTS,
    WAIT_EVENTS,
  ];
  const kinds = [...tables.flatMap((table) => Object.keys(table)), "MessageAbsorbed", "RecoveryDecided"];
  expect(kinds.toSorted()).toEqual(Object.keys(KERNEL.rows).toSorted());
  expect(Object.keys(KERNEL_MESSAGES)).not.toContain("answer");
  expect(Object.keys(KERNEL_ACTIONS)).not.toContain("undo");
});

test("the order of what is owed asks each slot of the features", () => {
  const asked = new Set<string>();
  const nothing = (slot: string) => (): [] => {
    asked.add(slot);
    return [];
  };
  const owed: OwedByFeatures = {
    gates: nothing("gates"),
    waits: nothing("waits"),
    children: nothing("children"),
    lateChildren: nothing("lateChildren"),
    childDeadlines: nothing("childDeadlines"),
    model: () => {
      asked.add("model");
      return { kind: "askModel" };
    },
  };
  for (const phase of PHASE_NAMES) commandsBy(owed, IN_PHASE[phase](), view());
  expect([...asked].toSorted()).toEqual(Object.keys(owed).toSorted());
});
