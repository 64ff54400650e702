/** Damaged rows of the embedded store: changed bits and truncated text. All other runs continue. */
import { describe, expect, test } from "vitest";
import type { Store } from "../../../src/adapters/local/store/database.ts";
import { inspectStore } from "../../../src/adapters/local/inspection.ts";
import { removalsOf } from "../../../src/adapters/local/store/removals.ts";
import { type Ports, sqlitePorts } from "../../support/harness/ports.ts";
import { send } from "../../../src/operations/steer.ts";
import { type Row, hasEnded } from "../../../src/protocol/row.ts";
import { COMMIT } from "../../../src/protocol/row-commit.ts";
import { END_NOTIFICATION } from "../../../src/protocol/row-end-notification.ts";
import { CLAIM } from "../../../src/protocol/row-claim.ts";
import { PURGE } from "../../../src/protocol/row-removal.ts";
import { NOW, claim, commit, creation, open, temporaryStore } from "../../process/fixtures/store.ts";
import { ENDED, row } from "../../process/fixtures/table.ts";
import { attemptBeat, createLocalHarness, beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { scriptedAgent, beatReply } from "../../support/harness/harness.ts";
import { rewriteText } from "../../support/runs/rewrite-text.ts";
import { runCli } from "../../support/processes/cli-in-process.ts";
import { STRIDE } from "../../support/gate/stride.ts";

const runOf = (letter: string): string => `local-${letter.repeat(26)}`;

function store(of: Store, run: string, text: string): void {
  of.rows.prepare("UPDATE runs SET row = ? WHERE run = ?").run(text, run);
}

const stored = (of: Store, run: string): string =>
  String(of.rows.prepare("SELECT row FROM runs WHERE run = ?").get(run)?.["row"]);

/** Three runs and the row text of the middle one; pages begin with the newest. */
async function three(): Promise<{ readonly at: Store; readonly table: Ports; readonly text: string }> {
  const at = temporaryStore();
  const table = sqlitePorts(at);
  for (const [index, letter] of ["a", "b", "c"].entries())
    await table.create(creation({ run: runOf(letter), now: NOW + index }));
  row(await table.decide(claim({ run: runOf("b") }), CLAIM), "granted");
  return { at, table, text: stored(at, runOf("b")) };
}

/** All rows of the store in pages of one, and the runs with damaged rows. */
async function everyPage(table: Ports, which: "list" | "alive") {
  const rows: string[] = [];
  const damaged: string[] = [];
  let after: string | null = null;
  do {
    const query = { limit: 1, after, now: NOW };
    const page: Awaited<ReturnType<Ports["list"]>> =
      which === "alive" ? await table.alive(query) : await table.list({ ...query, tenant: "local", status: null });
    expect({ rows: page.rows.length + page.damaged.length, behind: page.behind.length }).toEqual({
      rows: 1,
      behind: page.rows.length,
    });
    rows.push(...page.rows.map(({ run }) => run));
    damaged.push(...page.damaged.map(({ run }) => run));
    after = page.next;
  } while (after !== null);
  return { rows, damaged };
}

/** What every reader may rely on, whichever bits of the row changed. */
async function staysTotal(of: { readonly at: Store; readonly table: Ports }, text: string): Promise<boolean> {
  const { at, table } = of;
  const [poison, others] = [runOf("b"), [runOf("a"), runOf("c")]];
  store(at, poison, text);
  const read = await table.read(poison, NOW).catch((error: unknown) => {
    expect(error).toMatchObject({ name: "Unreadable", code: "RowDamaged", run: poison });
    return "damaged" as const;
  });
  for (const which of ["list", "alive"] as const) {
    const { rows, damaged } = await everyPage(table, which);
    expect(rows.filter((run) => run !== poison).toSorted()).toEqual(others);
    expect(damaged).toEqual(read === "damaged" ? [poison] : []);
  }
  const entry = { execution: "execution 1", epoch: 0, retry: 1 };
  const { kind } = await table.decide(claim({ run: poison, entry }), CLAIM);
  if (read === "damaged") expect({ kind, stored: stored(at, poison) }).toEqual({ kind: "unreadable", stored: text });
  return read === "damaged";
}

describe("a row whose text is damaged", () => {
  test("by one bit is reported as damaged or still decodes, and every other run is read", async () => {
    const of = await three();
    const bytes = Buffer.from(of.text);
    let damaged = 0;
    for (let at = 0; at < bytes.length; at += 3 * STRIDE) {
      const flipped = Buffer.from(bytes);
      flipped[at] = (bytes[at] ?? 0) ^ (1 << (at % 7));
      if (await staysTotal(of, flipped.toString())) damaged += 1;
    }
    expect(damaged).toBe(Math.ceil(bytes.length / (3 * STRIDE)));
  });

  test("by truncation at any place is reported as damaged", async () => {
    const of = await three();
    for (let length = 0; length < of.text.length; length += 7 * STRIDE)
      expect({ length, staysTotal: await staysTotal(of, of.text.slice(0, length)) }).toEqual({
        length,
        staysTotal: true,
      });
  });

  test.each(["null", "[]", "7", '"text"', "{}"])("and now %s is reported as damaged", async (text) => {
    expect(await staysTotal(await three(), text)).toBe(true);
  });

  test.each([
    ["no status", { status: undefined }],
    ["an epoch that is no number", { epoch: "1" }],
    ["no budget", { spent: null }],
  ])("is reported as damaged with a fitting checksum and %s", async (_, wrong) => {
    const { at, table } = await three();
    const run = runOf("b");
    rewriteText(at, run, (fields) => ({ ...fields, ...wrong }));
    await expect(table.read(run, NOW)).rejects.toMatchObject({ code: "RowDamaged", run });
    expect((await everyPage(table, "list")).damaged).toEqual([run]);
  });

  test("is intact when it only has unknown fields: every write keeps them", async () => {
    const { at, table, text } = await three();
    const run = runOf("b");
    const { sum: _, ...more } = JSON.parse(text) as {
      readonly [field in "sum" | "born"]: string;
    } & { readonly [field in "spent" | "entry"]: object };
    const later = { ...more, news: 1, spent: { ...more.spent, news: 2 }, entry: { ...more.entry, news: 3 } };
    rewriteText(at, run, () => later);
    expect(await table.read(run, NOW)).toMatchObject(later);
    const of = { run, born: later.born, now: NOW };
    expect((await table.request({ ...of, want: "pause" })).kind).toBe("requested");
    expect(JSON.parse(stored(at, run))).toMatchObject({ ...later, pause: true, wakeCount: 1 });
  });

  test("is unreadable for every operation of any incarnation, and stays unchanged", async () => {
    const { at, table } = await three();
    const run = runOf("b");
    const before = (await table.read(run, NOW)) as Row;
    store(at, run, "{");
    const of = { run, born: before.born, now: NOW };
    const unreadable = { kind: "unreadable", why: expect.stringContaining("its row is damaged") as string };
    for (const outcome of [
      table.create(creation({ run })),
      table.decide(claim({ run, born: "zzzzzzzzzz" }), CLAIM),
      table.decide(commit(before), COMMIT),
      table.request({ ...of, want: "cancel" }),
      table.decide(of, PURGE),
      table.decide({ ...of, expiresAtSec: 1 }, END_NOTIFICATION),
    ])
      expect(await outcome).toEqual(unreadable);
    expect(await table.unread({ ...of, limit: 9 })).toEqual([]);
    expect(stored(at, run)).toBe("{");
  });
});

test("expired runs are removed even if one of them has a damaged row without an incarnation", async () => {
  const at = temporaryStore();
  const table = sqlitePorts(at);
  for (const letter of ["a", "b", "c"]) {
    const run = runOf(letter);
    await table.create(creation({ run }));
    const granted = row(await table.decide(claim({ run }), CLAIM), "granted");
    expect(hasEnded(row(await table.decide(commit(granted, ENDED), COMMIT), "committed"))).toBe(true);
    const told = { run, born: granted.born, now: NOW, expiresAtSec: NOW / 1_000 + 1 };
    row(await table.decide(told, END_NOTIFICATION), "notified");
  }
  store(at, runOf("a"), "{");
  rewriteText(at, runOf("b"), () => ({ born: "aaaaaaaaaa" }));
  const removals = removalsOf(at);
  // With a limit of one: a row that cannot be removed must not block the others forever.
  while (removals.expire(NOW + 2_000, 1));
  const left = at.rows.prepare("SELECT run FROM runs").all();
  expect(left).toEqual([{ run: runOf("a") }]);
  expect(inspectStore(at, { overdueBefore: NOW }).damaged).toMatchObject([{ run: runOf("a"), why: "it is no JSON" }]);
});

test.each(["{", '{"kind":"user"}', "null"])(
  "a message with the text %s ends the beat that reads it, but not its run",
  async (body) => {
    const { dir, world, records } = createLocalHarness();
    const payload = await beginRun(world, scriptedAgent({}), {});
    const words = { run: payload.run, text: "take the train", by: "ann", id: "w" };
    expect(await send(world, words)).toEqual({ kind: "delivered" });
    const at = open(dir, false);
    const change = at.rows.prepare("UPDATE inbox SET body = ?");
    const whole = String(at.rows.prepare("SELECT body FROM inbox").get()?.["body"]);
    change.run(body);
    expect(await beatReply(attemptBeat(runnerOf(world, scriptedAgent({})), payload))).toMatchObject({
      route: "superseded",
    });
    const why = "MessageDamaged: message user#w is damaged: its body is invalid";
    expect(records.filter(({ level }) => level === "alarm")).toMatchObject([{ run: payload.run, detail: { why } }]);
    change.run(whole);
    expect(await drive(runnerOf(world, scriptedAgent({})), { ...payload, epoch: 1 })).toMatchObject({ route: "done" });
  },
);

test("a message whose text changed is damaged even if it still decodes", async () => {
  const { dir, world } = createLocalHarness();
  const payload = await beginRun(world, scriptedAgent({}), {});
  await send(world, { run: payload.run, text: "take the train", by: "ann", id: "w" });
  open(dir, false).rows.exec("UPDATE inbox SET body = replace(body, 'train', 'plane')");
  const inbox = world.inbox.unread({ ...payload, now: 0, limit: 9 });
  await expect(inbox).rejects.toMatchObject({ code: "MessageDamaged" });
});

describe("commands", () => {
  async function damagedStore() {
    const { dir, world } = createLocalHarness();
    const at = open(dir, false);
    const sound = (await beginRun(world, scriptedAgent({}), {})).run;
    const poison = (await beginRun(world, scriptedAgent({}), {})).run;
    store(at, poison, stored(at, poison).slice(0, 40));
    return { dir, at, sound, poison };
  }

  test("list names the damaged run on its own line and shows all others", async () => {
    const { dir, sound, poison } = await damagedStore();
    const { exit, out } = await runCli(dir, "list");
    expect({ exit, out }).toEqual({ exit: 0, out: expect.stringContaining(sound.slice(0, 14)) });
    expect(out).toMatch(new RegExp(`^${poison} +damaged: it is no JSON; see npx cairn verify ${poison}`, "m"));
    const lines = (await runCli(dir, "list", "--json")).out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as object);
    expect(lines).toMatchObject([
      { run: sound, status: "queued" },
      { run: poison, damaged: "it is no JSON" },
    ]);
  });

  test.each([
    ["show"],
    ["timeline"],
    ["ledger"],
    ["watch"],
    ["purge", "--yes"],
    ["restart", "--yes"],
    ["send", "hello"],
  ])("%s of the damaged run fails with a code and says what to type", async (command, ...more) => {
    const { dir, poison } = await damagedStore();
    const { exit, err } = await runCli(dir, command, poison.slice(0, 14), ...more);
    expect({ exit, err }).toEqual({
      exit: 5,
      err: expect.stringContaining(`error RowDamaged: the row of run ${poison} is damaged`),
    });
    expect(err).toContain(`next: npx cairn verify ${poison} --store ${dir}`);
  });

  test("cancel of the damaged run changes nothing and says what to type", async () => {
    const { dir, poison } = await damagedStore();
    const { exit, err } = await runCli(dir, "cancel", poison);
    expect({ exit, err }).toEqual({ exit: 5, err: expect.stringContaining("error Unreadable") });
    expect(err).toContain(`next: npx cairn verify ${poison}`);
  });

  test("verify names the damaged row, and what to do", async () => {
    const { dir, poison } = await damagedStore();
    const { exit, out } = await runCli(dir, "verify", poison);
    expect({ exit, out }).toEqual({ exit: 1, out: expect.stringContaining("the row: it is no JSON") });
    expect(out).toContain("bring back its row from a backup of the store");
  });

  test("doctor names the damaged row and the command that inspects it", async () => {
    const { dir, poison } = await damagedStore();
    const { exit, out } = await runCli(dir, "doctor", "--json");
    const { checks } = JSON.parse(out) as { checks: readonly { id: string }[] };
    const rows = checks.find(({ id }) => id === "rows");
    expect({ exit, rows }).toMatchObject({ exit: 1, rows: { status: "fail", why: `${poison}: it is no JSON` } });
    expect(rows).toMatchObject({ mend: expect.stringContaining(`npx cairn verify ${poison}`) });
  });

  test("approvals shows all other waiting gates and names the run that it could not read", async () => {
    const { dir, at, poison } = await damagedStore();
    // What stands beside the row says that it may ask.
    at.rows.prepare("UPDATE runs SET status = 'waiting', asks = 1 WHERE run = ?").run(poison);
    const { exit, out, err } = await runCli(dir, "approvals");
    expect({ exit, out }).toEqual({ exit: 0, out: "no call waits for an approval, an answer or a reconciliation\n" });
    expect(err).toContain(`run ${poison} cannot be read`);
  });
});
