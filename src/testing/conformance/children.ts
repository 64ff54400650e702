/**
 * The contract of the creation of child runs: one transaction that names the parent's epoch, and makes each child
 * once.
 */
import type { ChildCreation, ChildrenCreation } from "../../protocol/row-children.ts";
import { COMMIT } from "../../protocol/row-commit.ts";
import { type RunTableWorld, BORN, ENDED, NOW, subject, times } from "./run.ts";
import { type Case, insist, must, mustEqual, rowOf } from "./case.ts";

const LETTERS = "bcdefgh";

/** A parent that the caller holds, and the creation of some children of it. */
async function family(world: RunTableWorld, count = 2) {
  const mine = subject(world);
  const held = await mine.granted();
  const children = times(count, (index): ChildCreation => {
    const { run, creation } = subject(world, LETTERS[index]);
    const parent = { run: mine.run, born: BORN };
    return { creation: creation({ parent, level: 2 }), reportId: `child#${run}`, isLeft: false };
  });
  const of = (change: Partial<ChildrenCreation> = {}): ChildrenCreation => ({
    run: mine.run,
    born: BORN,
    now: NOW,
    epoch: held.epoch,
    children,
    ...change,
  });
  const make = async (change: Partial<ChildrenCreation> = {}) => insist(() => world.table.createChildren(of(change)));
  const read = (index: number) => world.table.read(children[index]?.creation.run ?? "", NOW);
  return { mine, held, children, make, read };
}

/** The answers, in order. */
function kindsOf(outcome: Awaited<ReturnType<Awaited<ReturnType<typeof family>>["make"]>>): readonly string[] {
  must(outcome.kind === "made", `the outcome is ${outcome.kind}`);
  return outcome.children.map(({ kind }) => kind);
}

export const childCases: readonly Case<RunTableWorld>[] = [
  {
    name: "createChildren makes every child of a parent that the epoch holds, queued and with its level",
    run: async (world) => {
      const { mine, held, make, read } = await family(world, 3);
      mustEqual(kindsOf(await make()), ["created", "created", "created"], "the answers");
      for (const index of [0, 1, 2]) {
        const row = await read(index);
        mustEqual(row?.status, "queued", "the status of a child");
        mustEqual(row?.parent, { run: mine.run, born: BORN }, "the parent of a child");
        mustEqual(row?.level, 2, "the level of a child");
      }
      mustEqual(await mine.stored(), held, "the row of the parent");
      await rowOf(() => world.table.decide(mine.commit(held), COMMIT), "committed");
    },
  },
  {
    name: "createChildren finds what an earlier copy made, and makes the rest",
    run: async (world) => {
      const { children, make, read } = await family(world, 3);
      const [first, ...rest] = children;
      must(first !== undefined, "there is a child");
      mustEqual(kindsOf(await make({ children: [first] })), ["created"], "the answer for one");
      const before = await read(0);
      const again: ChildCreation[] = [];
      for (const child of children) again.push({ ...child, creation: { ...child.creation, born: "cccccccccc" } });
      const outcome = await make({ children: again });
      mustEqual(kindsOf(outcome), ["exists", ...rest.map(() => "created")], "the answers");
      must(outcome.kind === "made", "it is made");
      const [exists] = outcome.children;
      must(exists?.kind === "exists", "the first one exists");
      mustEqual(exists.row, before, "the row that exists");
      mustEqual(await read(0), before, "the row that was there");
    },
  },
  {
    name: "createChildren is fenced by another epoch, and by the end of the parent (schedule 115)",
    run: async (world) => {
      const { mine, held, make, read } = await family(world);
      mustEqual((await make({ epoch: held.epoch - 1 })).kind, "fenced", "an older epoch");
      mustEqual((await make({ epoch: held.epoch + 1 })).kind, "fenced", "another epoch");
      const end = mine.commit(held, { ...ENDED, release: true, unlessWoken: true });
      await rowOf(() => world.table.decide(end, COMMIT), "committed");
      mustEqual((await make()).kind, "fenced", "a parent that has ended");
      mustEqual([await read(0), await read(1)], [null, null], "the children");
    },
  },
  {
    name: "createChildren is fenced also where its children exist",
    run: async (world) => {
      const { held, make } = await family(world);
      mustEqual(kindsOf(await make()), ["created", "created"], "the answers");
      mustEqual((await make({ epoch: held.epoch - 1 })).kind, "fenced", "an older epoch");
    },
  },
  {
    name: "createChildren makes no child of a parent that is missing, or of another incarnation",
    run: async (world) => {
      const { make, read } = await family(world);
      mustEqual((await make({ run: subject(world, "z").run })).kind, "missing", "no such parent");
      mustEqual((await make({ born: "zzzzzzzzzz" })).kind, "missing", "another incarnation");
      mustEqual([await read(0), await read(1)], [null, null], "the children");
    },
  },
  {
    name: "createChildren does not make a child whose report was delivered, whether it is absorbed or not (schedule 117)",
    run: async (world) => {
      const { mine, children, make, read } = await family(world);
      const id = children[0]?.reportId ?? "";
      const body = { kind: "user", text: "a report", by: "conformance" } as const;
      await rowOf(() => world.inbox.deliver(mine.delivery({ id, sentAt: NOW, body })), "delivered");
      mustEqual(kindsOf(await make()), ["reported", "created"], "the answers");
      await world.inbox.clear({ ...mine.of, ids: [id] });
      mustEqual(kindsOf(await make()), ["reported", "exists"], "the answers after the report was absorbed");
      mustEqual(await read(0), null, "the child that has reported");
    },
  },
  {
    name: "createChildren makes a child that is left alone once, also when its row is gone (schedule 131)",
    run: async (world) => {
      const { make, read, children } = await family(world, 1);
      const [child] = children;
      must(child !== undefined, "there is a child");
      const left = [{ ...child, isLeft: true, creation: { ...child.creation, parent: null } }];
      mustEqual(kindsOf(await make({ children: left })), ["created"], "the answer");
      mustEqual((await read(0))?.parent, null, "its parent");
      mustEqual(kindsOf(await make({ children: left })), ["reported"], "the answer to a copy");
    },
  },
  {
    name: "createChildren leaves the wake-up counter and the inbox of the parent as they are",
    run: async (world) => {
      const { mine, held, make, children } = await family(world, 1);
      const left = children.map(({ creation, reportId }) => ({ creation, reportId, isLeft: true }));
      mustEqual(kindsOf(await make({ children: left })), ["created"], "the answer");
      mustEqual((await mine.stored())?.wakeCount, held.wakeCount, "the wake-up counter");
      mustEqual(await world.inbox.unread(mine.of), [], "the inbox");
    },
  },
  {
    name: "createChildren makes many children at once",
    run: async (world) => {
      const { make } = await family(world, LETTERS.length);
      mustEqual(new Set(kindsOf(await make())), new Set(["created"]), "the answers");
    },
  },
];
