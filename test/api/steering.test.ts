/** Runs are listed, followed and steered over HTTP alone. */
import { describe, expect, test } from "vitest";
import { SIZES } from "../../src/codec/limits.ts";
import { type ApiHarness, createApiHarness } from "../support/harness/api-harness.ts";
import { drive, runnerOf } from "../support/harness/drive.ts";
import { callsThenFinal } from "../support/harness/harness.ts";

const begin = async (harness: ApiHarness): Promise<string> =>
  String((await harness.ask({ path: "/runs", json: { agent: "actor" } })).body["run"]);

const play = async (harness: ApiHarness, run: string): Promise<void> => {
  const { born, epoch } = harness.row(run);
  await drive(runnerOf(harness.world, harness.agent), { run, born, chain: 1, epoch, agent: harness.agent.name });
};

interface Page {
  readonly entries: readonly { readonly version: number; readonly kind: string }[];
  readonly next: number;
  readonly more: boolean;
  readonly inProgress: boolean;
}

describe("GET /runs", () => {
  test("returns every run once, page by page", async () => {
    const harness = createApiHarness();
    const runs: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      harness.clock.moveTo(harness.clock.now() + 10);
      runs.push(await begin(harness));
    }
    const listed: string[] = [];
    for (let query: string | null = ""; query !== null;) {
      const { body } = await harness.ask({ path: `/runs?agent=actor&limit=2${query}` });
      listed.push(...(body["runs"] as readonly { readonly run: string }[]).map(({ run }) => run));
      query = body["next"] === null ? null : `&after=${encodeURIComponent(String(body["next"]))}`;
    }
    expect(listed.toSorted()).toEqual(runs.toSorted());
  });

  test("filters by status and agent, and gives nothing for a forged cursor", async () => {
    const harness = createApiHarness({ reply: callsThenFinal(0) });
    const [first, second] = [await begin(harness), await begin(harness)];
    await play(harness, first);
    const runsOf = async (query: string) => (await harness.ask({ path: `/runs?${query}` })).body["runs"];
    expect(await runsOf("status=queued")).toMatchObject([{ run: second, parent: null }]);
    expect(await runsOf("status=completed&agent=actor")).toMatchObject([{ run: first }]);
    expect(await runsOf("agent=other")).toEqual([]);
    expect(await runsOf("after=%00forged")).toEqual([]);
    expect((await harness.ask({ path: "/runs?status=asleep" })).status).toBe(422);
    expect((await harness.ask({ path: "/runs?limit=501" })).status).toBe(422);
  });
});

test("a request whose fields may all be absent needs no body", async () => {
  const harness = createApiHarness();
  const run = await begin(harness);
  const { status, body } = await harness.ask({ method: "POST", path: `/runs/${run}/cancel` });
  expect({ status, kind: body["kind"] }).toEqual({ status: 202, kind: "requested" });
});

test("a reason is taken for the audit log, and one that is too long is refused before anything is done", async () => {
  const harness = createApiHarness();
  const run = await begin(harness);
  const pause = (why: string) => harness.ask({ method: "POST", path: `/runs/${run}/pause`, json: { why } });
  expect(await pause("x".repeat(501))).toMatchObject({ status: 422, body: { code: "RequestInvalid" } });
  expect((await pause("x".repeat(500))).status).toBe(202);
  const { body } = await harness.ask({ path: `/audit-log?run=${run}` });
  expect(body["entries"]).toMatchObject([{ operation: "pause", why: "x".repeat(500) }, { operation: "start" }]);
});

describe("GET /runs/{run}/events", () => {
  test("waits until the run commits, and continues after its cursor", async () => {
    const harness = createApiHarness({ reply: callsThenFinal(1) });
    const run = await begin(harness);
    const path = `/runs/${run}/events`;
    const { body: first } = await harness.ask({ path });
    const { next, inProgress } = first as unknown as Page;
    expect(inProgress).toBe(true);
    const waiting = harness.ask({ path: `${path}?after=${next}&wait=20` });
    await play(harness, run);
    const { body } = await harness.advanceUntilSettled(waiting);
    const page = body as unknown as Page;
    expect(page.entries.length).toBeGreaterThan(0);
    expect(page.entries.every(({ version }) => version > next)).toBe(true);
    const { body: last } = await harness.ask({ path: `${path}?after=${page.next}&wait=20` });
    expect(last).toMatchObject({ inProgress: false, more: false });
  });

  test("answers with no events when the wait is over", async () => {
    const harness = createApiHarness();
    const run = await begin(harness);
    const { version } = harness.row(run);
    const { body } = await harness.advanceUntilSettled(
      harness.ask({ path: `/runs/${run}/events?after=${version}&wait=2` }),
    );
    expect(body).toMatchObject({ kind: "shown", entries: [], next: version, more: false });
  });

  test("splits a long history between commits, and loses no event", async () => {
    const harness = createApiHarness({ reply: callsThenFinal(4), run: () => "x".repeat(SIZES.previewCharacters) });
    const run = await begin(harness);
    await play(harness, run);
    const { body: whole } = await harness.ask({ path: `/runs/${run}/events` });
    const entries: Page["entries"][number][] = [];
    let pages = 0;
    for (let after = 0, more = true; more; pages += 1) {
      const { body } = await harness.ask({ path: `/runs/${run}/events?after=${after}&bytesMax=2000` });
      const page = body as unknown as Page;
      entries.push(...page.entries);
      ({ next: after, more } = page);
    }
    expect(pages).toBeGreaterThan(2);
    expect(entries).toEqual(whole["entries"]);
  });
});

describe("a run that waits for approval", () => {
  async function waiting() {
    const harness = createApiHarness({ approval: "always", reply: callsThenFinal(1) });
    const run = await begin(harness);
    await play(harness, run);
    const { body } = await harness.ask({ path: `/runs/${run}` });
    const [{ gate } = { gate: "" }] = body["gates"] as readonly { readonly gate: string }[];
    return { harness, run, path: `/runs/${run}/approvals/${encodeURIComponent(gate)}` };
  }

  test("gets one decision from ten concurrent approvals", async () => {
    const { harness, run, path } = await waiting();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        harness.ask({ path, json: { as: "approve" } }, { caller: { tenant: "local", actor: `operator ${index}` } }),
      ),
    );
    const taken = answers.filter(({ status }) => status === 202);
    expect({ taken: taken.length, conflicts: answers.filter(({ status }) => status === 409).length }).toEqual({
      taken: 1,
      conflicts: 9,
    });
    await play(harness, run);
    const { body } = await harness.ask({ path: `/runs/${run}/ledger` });
    expect(body).toMatchObject({ calls: [{ status: "succeeded", attempts: 1 }], next: null });
  });

  test("is listed with the arguments of its call until it is decided", async () => {
    const { harness, run, path } = await waiting();
    await begin(harness);
    const { body } = await harness.ask({ path: "/approvals" });
    expect(body).toMatchObject({ gates: [{ run, agent: "actor", decided: false }], unreadable: [], next: null });
    const { body: small } = await harness.ask({ path: "/approvals?bytesMax=1" });
    expect(small).toMatchObject({ gates: [{ run, args: null, omitted: ["args"] }] });
    await harness.ask({ path, json: { as: "deny", note: "no" } });
    expect((await harness.ask({ path: "/approvals" })).body).toMatchObject({ gates: [], next: null });
    const eve = { caller: { tenant: "other", actor: "eve" } };
    expect((await harness.ask({ path: "/approvals" }, eve)).body["gates"]).toEqual([]);
  });

  test("does not hide behind a run whose data is damaged", async () => {
    const { harness, run } = await waiting();
    const { objects } = harness.world.store;
    for (const key of objects.keys()) if (key.includes(run)) objects.set(key, Uint8Array.of(1));
    const { body } = await harness.ask({ path: "/approvals" });
    expect(body).toMatchObject({ gates: [], unreadable: [{ run }] });
  });

  test("is cancelled with its effects compensated, once", async () => {
    const { harness, run } = await waiting();
    const cancel = { path: `/runs/${run}/cancel`, json: { compensate: true } };
    expect((await harness.ask(cancel)).body).toMatchObject({ kind: "accepted", effects: {} });
    expect((await harness.ask(cancel)).body).toMatchObject({ status: 409, code: "Duplicate" });
    await play(harness, run);
    expect((await harness.ask({ path: `/runs/${run}` })).body["status"]).toBe("cancelled");
    const purged = await harness.ask({ method: "DELETE", path: `/runs/${run}?forgetKey=true` });
    expect(purged.body).toMatchObject({ kind: "purged", run, summary: { run, status: "cancelled" } });
    expect(purged.text).not.toContain("leaseUntil");
    expect((await harness.ask({ path: `/runs/${run}` })).status).toBe(404);
  });
});
