/**
 * The contract of `decide`, whatever the decision: it is made on the stored row, it writes what it names, and it takes
 * back nothing that a message or a request wrote meanwhile.
 */
import type { DecisionOutcome, RowDecision } from "../../protocol/row-decision.ts";
import type { Row, RunRef } from "../../protocol/row.ts";
import { type Case, insist, must, mustBe, mustEqual, rowOf } from "./case.ts";
import { NOW, onRun, type RunTableWorld, words } from "./run.ts";

/** A decision that moves the epoch and changes these fields besides. */
const moving = (
  change: (row: Row) => Partial<Row>,
  named: Pick<RowDecision<RunRef, DecisionOutcome>, "reads" | "replaces"> = {},
): RowDecision<RunRef, DecisionOutcome> => ({
  name: "move",
  decision: (row) => ({
    kind: `moved after ${row.wakeCount} messages`,
    row: { ...row, epoch: row.epoch + 1, ...change(row) },
  }),
  ...named,
});

export const decisionCases: readonly Case<RunTableWorld>[] = [
  {
    name: "decide writes nothing when a decision returns the row as it is",
    run: onRun(async ({ mine, table }) => {
      const row = await mine.released();
      const kept: RowDecision<RunRef, DecisionOutcome> = {
        name: "keep",
        decision: (seen) => ({ kind: "kept", row: seen }),
      };
      mustEqual(await rowOf(() => table.decide(mine.of, kept), "kept"), row, "the row of the outcome");
      mustEqual(await mine.stored(), row, "the stored row");
    }),
  },
  {
    name: "decide keeps what a message wrote after the row was read, where the decision does not name it",
    run: onRun(async ({ mine, table, inbox }) => {
      const row = await mine.released();
      const deadline = row.deadline + 5;
      await mustBe(() => inbox.deliver(mine.delivery(words("m1", NOW), { deadline })), "delivered");
      await insist(() =>
        table.decide(
          mine.of,
          moving(() => ({ chainClaims: 0 })),
        ),
      );
      const stored = await mine.stored();
      mustEqual([stored?.epoch, stored?.wakeCount, stored?.deadline], [row.epoch + 1, 1, deadline], "the stored row");
    }),
  },
  {
    name: "decide makes a decision again when a field that it names as read has changed (schedule 247)",
    run: onRun(async ({ mine, table, inbox }) => {
      await mine.released();
      await mustBe(() => inbox.deliver(mine.delivery(words("m1", NOW))), "delivered");
      const reading = moving(() => ({}), { reads: () => ["wakeCount"] });
      await rowOf(() => table.decide(mine.of, reading), "moved after 1 messages");
    }),
  },
  {
    name: "decide replaces a field of messages that the decision names, and keeps the others",
    run: onRun(async ({ mine, table, inbox }) => {
      const row = await mine.released();
      await mustBe(() => inbox.deliver(mine.delivery(words("m1", NOW), { deadline: row.deadline + 5 })), "delivered");
      const replacing = moving(({ deadline }) => ({ deadline: deadline - 1 }), {
        reads: () => ["deadline"],
        replaces: () => ["deadline"],
      });
      await insist(() => table.decide(mine.of, replacing));
      const stored = await mine.stored();
      mustEqual([stored?.deadline, stored?.wakeCount], [row.deadline + 4, 1], "the stored row");
    }),
  },
  {
    name: "decide rejects a decision that changes a field of messages without naming it, and writes nothing (schedule 247)",
    run: onRun(async ({ mine, table }) => {
      const row = await mine.released();
      const changes: readonly ((row: Row) => Partial<Row>)[] = [
        ({ wakeCount }) => ({ wakeCount: wakeCount + 1 }),
        ({ deadline }) => ({ deadline: deadline + 1 }),
        () => ({ cancel: true }),
        () => ({ pause: true }),
      ];
      for (const change of changes) {
        const isRejected = await table.decide(mine.of, moving(change)).then(
          () => false,
          () => true,
        );
        must(isRejected, "such a decision is rejected");
        mustEqual(await mine.stored(), row, "the stored row");
      }
    }),
  },
];
