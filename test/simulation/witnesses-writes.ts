/** Witnesses of what is written: commits that are not certain, snapshots, messages and requests. */
import type { Witnesses } from "./observed-history.ts";

export const witnessesWrites: Witnesses = {
  6: ({ calls }) =>
    calls("table.commit").some(
      ({ of: [{ commitId }], fault }) =>
        fault === "not applied" &&
        calls("table.commit").some(
          ({ of: [again], outcome }) => again.commitId === commitId && outcome?.kind === "committed",
        ),
    ),
  // Its first copy lands when somebody has spoken in between.
  8: ({ calls }) =>
    calls("table.commit").some(
      ({ fault, sent, order }) =>
        fault === "landed" &&
        calls("inbox.deliver").some(
          (said) => said.outcome?.kind === "delivered" && said.order > sent && said.order < order,
        ),
    ),
  10: ({ calls }) =>
    calls("inbox.deliver").some(
      ({ outcome, who, order, of: [{ message }] }) =>
        outcome?.kind === "duplicate" &&
        calls("chain.wake").some((wake) => wake.who === who && wake.order > order && wake.outcome?.kind === "woken") &&
        calls("inbox.deliver").some(
          (first) => first.outcome?.kind === "delivered" && first.of[0].message.id === message.id,
        ),
    ),
  11: ({ calls }) =>
    calls("table.park").some(
      ({ outcome, order }) =>
        outcome?.kind === "parked" &&
        outcome.row.wakeCount >
          calls("inbox.deliver").filter((each) => each.outcome?.kind === "delivered" && each.order < order).length,
    ),
  12: ({ calls }) => calls("table.commit").some(({ outcome }) => outcome?.kind === "woken"),
  14: ({ calls }) =>
    calls("table.park").some(
      ({ outcome, order }) =>
        outcome?.kind === "parked" &&
        outcome.row.status === "paused" &&
        calls("table.request").some(({ of: [{ want }], who, order: asked }) =>
          calls("chain.wake").some(
            (wake) => want === "resume" && asked > order && wake.who === who && wake.outcome?.kind === "woken",
          ),
        ),
    ),
  17: ({ calls }) => {
    const stored = calls("objects.put").filter(({ outcome }) => outcome?.kind === "stored");
    const names = stored.flatMap(({ of: [key] }) => /snapshots\/(\d+-\d+)-\d+\.json/.exec(key)?.[1] ?? []);
    return new Set(names).size < names.length;
  },
  27: ({ calls, events }) =>
    calls("inbox.deliver").some(
      ({ of: [{ message }], outcome, order }) =>
        outcome?.kind === "duplicate" &&
        events("MessageAbsorbed").some((each) => each.order < order && each.event.message === message.id),
    ),
  30: ({ events }) => events("ToolResultReconciled").some(({ event }) => event.answer.by === "person"),
  42: ({ events }) =>
    events("MessageAbsorbed").some(
      ({ event, row }) =>
        event.stage === "taken" &&
        event.body.kind === "reconcile" &&
        event.body.answer.as !== "succeeded" &&
        row.effectsSettleAt > event.at,
    ),
  43: ({ calls, events }) =>
    calls("inbox.unread").some(({ outcome, order }) =>
      (outcome ?? []).some(({ id }) =>
        events("MessageAbsorbed").some((each) => each.order < order && each.event.message === id),
      ),
    ),
  47: ({ calls }) =>
    calls("table.commit").some(
      ({ of: [{ commitId, epoch }], outcome }) =>
        outcome?.kind === "fenced" && outcome.row.commitId === commitId && outcome.row.epoch !== epoch,
    ),
  // The archive is put, and its process comes no further: somebody else tells the end.
  50: ({ calls }) =>
    calls("objects.put").some(
      ({ of: [key], outcome, task, who, order }) =>
        key.startsWith("archive/") &&
        outcome?.kind === "stored" &&
        calls("table.recordEndNotified").some(
          (told) => told.order > order && (told.who !== who || told.task !== task),
        ) &&
        !calls("table.recordEndNotified").some((told) => told.who === who && told.task === task),
    ),
};
