/**
 * The contract of messages and requests from outside: each is counted once, despite concurrent writes, and none is
 * lost.
 */
import type { Row } from "../../protocol/row.ts";
import { COMMIT } from "../../protocol/row-commit.ts";
import { type Case, insist, must, mustBe, mustEqual, rowOf } from "./case.ts";
import { HOSTILE } from "./commits.ts";
import { HOUR_MS, NOW, onRun, type RunTableWorld, times, words } from "./run.ts";

const STORM = 50;

export const messageCases: readonly Case<RunTableWorld>[] = [
  {
    name: "deliver counts a message once, also when it is sent again after its removal (schedules 10 and 27)",
    run: onRun(async ({ mine, inbox }) => {
      await mine.created();
      const row = await rowOf(() => inbox.deliver(mine.delivery(words("m"))), "delivered");
      mustEqual([row.wakeCount, row.wakeCountSeen, row.version, row.epoch], [1, 0, 0, 0], "the stirred row");
      await mustBe(() => inbox.deliver(mine.delivery(words("m", NOW, "other words"))), "duplicate");
      mustEqual(await inbox.unread(mine.of), [words("m")], "the inbox");
      await inbox.clear({ ...mine.of, ids: ["m", "unknown"] });
      await inbox.clear({ ...mine.of, ids: ["m"] });
      mustEqual(await inbox.unread(mine.of), [], "the inbox after the removal");
      await mustBe(() => inbox.deliver(mine.delivery(words("m"))), "duplicate");
      mustEqual([await inbox.unread(mine.of), await mine.stored()], [[], row], "the inbox and the row");
    }),
  },
  {
    name: "deliver refuses another message under a used ID, as long as the run exists",
    run: onRun(async ({ mine, table, inbox }) => {
      const held = await mine.granted();
      const first = mine.delivery(words("m"), { digest: "first" });
      const other = mine.delivery(words("m", NOW, "other words"), { digest: "other" });
      const row = await rowOf(() => inbox.deliver(first), "delivered");
      await mustBe(() => inbox.deliver(other), "conflict");
      await mustBe(() => inbox.deliver(first), "duplicate");
      // Without a digest, a retry looks like another message.
      await mustBe(() => inbox.deliver(mine.delivery(words("m"))), "duplicate");
      mustEqual([await inbox.unread(mine.of), await mine.stored()], [[words("m")], row], "the inbox and the row");
      await inbox.clear({ ...mine.of, ids: ["m"] });
      await mustBe(() => inbox.deliver(other), "conflict");
      await mustBe(() => inbox.deliver(mine.delivery(words("n"), { digest: null })), "delivered");
      await mustBe(() => inbox.deliver(mine.delivery(words("n"), { digest: "first" })), "duplicate");
      const end = mine.commit(held, { status: "cancelled", phase: "Cancelled", release: true, wakeCountSeen: 2 });
      await rowOf(() => table.decide(end, COMMIT), "committed");
      await mustBe(() => inbox.deliver(other), "conflict");
      await mustBe(() => inbox.deliver(first), "duplicate");
    }),
  },
  {
    name: "answers `duplicate` to a repeated message even after the end of the run",
    run: onRun(async ({ mine, table, inbox }) => {
      const held = await mine.granted();
      await mustBe(() => inbox.deliver(mine.delivery(words("m"))), "delivered");
      const end = mine.commit(held, { status: "cancelled", phase: "Cancelled", release: true, wakeCountSeen: 1 });
      await rowOf(() => table.decide(end, COMMIT), "committed");
      await mustBe(() => inbox.deliver(mine.delivery(words("m"))), "duplicate");
      await mustBe(() => inbox.deliver(mine.delivery(words("other"))), "late");
    }),
  },
  {
    name: "inbox returns messages by time of sending, then by ID, and keeps those that were not removed",
    run: onRun(async ({ mine, inbox }) => {
      await mine.created();
      const sent = [words("b", NOW + 2), words("z", NOW + 1), words("a", NOW + 2), words("B", NOW + 2), words("y", 0)];
      for (const message of sent) await mustBe(() => inbox.deliver(mine.delivery(message)), "delivered");
      const ids = async () => (await inbox.unread(mine.of)).map(({ id }) => id);
      mustEqual(await ids(), ["y", "z", "B", "a", "b"], "the order");
      await inbox.clear({ ...mine.of, ids: ["z", "b"] });
      mustEqual(await ids(), ["y", "B", "a"], "what was not removed");
    }),
  },
  {
    name: "inbox returns the first messages up to its limit, and the next ones after a removal",
    run: onRun(async ({ mine, inbox }) => {
      await mine.created();
      const sent = times(7, (index) => words(`m${index}`, NOW + index));
      // Deliver the last messages first: the inbox is ordered by time of sending, not of arrival.
      for (const message of sent.toReversed()) await mustBe(() => inbox.deliver(mine.delivery(message)), "delivered");
      const ids = async (limit: number) => (await inbox.unread({ ...mine.of, limit })).map(({ id }) => id);
      mustEqual(await ids(1), ["m0"], "the first one");
      mustEqual(await ids(3), ["m0", "m1", "m2"], "the first three");
      mustEqual((await ids(7)).length, 7, "as many as there are");
      mustEqual((await ids(8)).length, 7, "more than there are");
      await inbox.clear({ ...mine.of, ids: ["m0", "m2"] });
      mustEqual(await ids(3), ["m1", "m3", "m4"], "the first three remaining messages");
    }),
  },
  {
    name: "a message moves the deadline forward and never back",
    run: onRun(async ({ mine, inbox }) => {
      const { deadline } = await mine.created();
      const later = deadline + HOUR_MS;
      const row = await rowOf(() => inbox.deliver(mine.delivery(words("m"), { deadline: later })), "delivered");
      mustEqual(row.deadline, later, "the deadline after a message");
      const next = await rowOf(() => inbox.deliver(mine.delivery(words("n"), { deadline: NOW })), "delivered");
      mustEqual(next.deadline, later, "the deadline after an older message");
    }),
  },
  {
    name: "returns hostile IDs and large texts unchanged",
    run: onRun(async ({ mine, inbox }) => {
      await mine.created();
      const large = "é🧭'\"".repeat(6_000);
      for (const [index, id] of HOSTILE.entries()) {
        const message = words(id, NOW + index, `${large}${id}`);
        await mustBe(() => inbox.deliver(mine.delivery(message)), "delivered");
        await mustBe(() => inbox.deliver(mine.delivery(message)), "duplicate");
        mustEqual(await inbox.unread(mine.of), [message], "the inbox");
        await inbox.clear({ ...mine.of, ids: [id] });
        mustEqual(await inbox.unread(mine.of), [], "the inbox after the removal");
      }
      mustEqual((await mine.stored())?.wakeCount, HOSTILE.length, "wakeCount");
    }),
  },
  {
    name: "counts each of 50 deliveries once and loses no commit when commits run at the same time",
    run: onRun(async ({ mine, table, inbox }) => {
      const held = await mine.granted();
      const storm = times(STORM, (index) => words(`m${String(index).padStart(2, "0")}`, NOW + index));
      const deliveries = storm.map((message) => insist(() => inbox.deliver(mine.delivery(message))));
      const rows: Row[] = [];
      for (let row = held; row.version < 20; row = rows.at(-1) as Row) {
        const commit = mine.commit(row);
        rows.push(await rowOf(() => table.decide(commit, COMMIT), "committed"));
      }
      await Promise.all(deliveries);
      const row = (await mine.stored()) as Row;
      mustEqual(
        [row.wakeCount, row.version, row.epoch],
        [STORM, 20, 1],
        "wakeCount, version and epoch after the storm",
      );
      mustEqual(await inbox.unread(mine.of), storm, "the inbox after the storm");
      const wakeCount = rows.map((each) => each.wakeCount);
      mustEqual(
        wakeCount,
        wakeCount.toSorted((one, other) => one - other),
        "wakeCount as the commits saw them",
      );
    }),
  },
  {
    name: "counts one message when 50 senders deliver it at once",
    run: onRun(async ({ mine, inbox }) => {
      await mine.created();
      const outcomes = await Promise.all(
        times(STORM, (index) => insist(() => inbox.deliver(mine.delivery(words("m", NOW, `try ${index}`))))),
      );
      must(outcomes.filter(({ kind }) => kind === "delivered").length <= 1, "at most one sender gets `delivered`");
      mustEqual((await mine.stored())?.wakeCount, 1, "wakeCount");
      mustEqual((await inbox.unread(mine.of)).length, 1, "messages in the inbox");
    }),
  },
  {
    name: "does not store what a caller changes in its arguments or results after a call",
    run: onRun(async ({ mine, table }) => {
      const held = await mine.granted();
      const journal = Uint8Array.of(1, 2, 3);
      const row = await rowOf(() => table.decide(mine.commit(held, { journal }), COMMIT), "committed");
      const before = await mine.stored();
      journal.fill(9);
      row.journal?.fill(9);
      mustEqual((await mine.stored())?.journal, before?.journal, "the stored journal");
      mustEqual(before?.journal, Uint8Array.of(1, 2, 3), "the journal that was committed");
    }),
  },
];

export const requestCases: readonly Case<RunTableWorld>[] = [
  {
    name: "request raises the wake counter, and a commit returns it without reverting it (schedules 11 and 14)",
    run: onRun(async ({ mine, table }) => {
      const held = await mine.granted();
      const asked = await rowOf(() => table.request(mine.request("pause")), "requested");
      mustEqual([asked.pause, asked.cancel, asked.wakeCount, asked.version], [true, false, 1, 0], "the paused row");
      const row = await rowOf(() => table.decide(mine.commit(held), COMMIT), "committed");
      mustEqual(
        [row.pause, row.wakeCount, row.wakeCountSeen],
        [true, 1, 0],
        "the request in the row that the commit returns",
      );
      const resumed = await rowOf(() => table.request(mine.request("resume")), "requested");
      mustEqual([resumed.pause, resumed.wakeCount], [false, 2], "the resumed row");
    }),
  },
  {
    name: "keeps a cancel whatever follows",
    run: onRun(async ({ mine, table }) => {
      await mine.created();
      await rowOf(() => table.request(mine.request("pause")), "requested");
      const row = await rowOf(() => table.request(mine.request("cancel")), "requested");
      mustEqual([row.cancel, row.pause], [true, true], "the cancelled row");
      const later = await rowOf(() => table.request(mine.request("resume")), "requested");
      mustEqual([later.cancel, later.pause, later.wakeCount], [true, false, 3], "the row after a resume");
    }),
  },
  {
    name: "counts each of 50 requests among deliveries",
    run: onRun(async ({ mine, table, inbox }) => {
      await mine.created();
      await Promise.all(
        times(STORM, (index) =>
          index % 2 === 0
            ? insist(() => table.request(mine.request("pause")))
            : insist(() => inbox.deliver(mine.delivery(words(`m${index}`)))),
        ),
      );
      // A request that is sent again after an ambiguous answer may stir twice, which does no harm.
      must(((await mine.stored())?.wakeCount ?? 0) >= STORM, "each request and message is counted");
      mustEqual((await inbox.unread(mine.of)).length, STORM / 2, "messages in the inbox");
    }),
  },
];
