/** `cairn chaos` on an agent with real services at hand: nothing arrives there without the flag and the typed list. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { LIMITS } from "../../support/gate/limits.ts";
import { assertSafety } from "../../support/gate/safety.ts";
import { createCliFolder, runCairn } from "../../support/processes/cli-process.ts";

const AGENT = join(import.meta.dirname, "../../process/fixtures/real-services-agent.ts");
const TASK = ["chaos", `${AGENT}#accountant`, "--tasks", "1", "--input", '{"invoice":"A-1"}', "--json"];
const TOOLS = ["book", "pay", "archive", "desk_*", "mailer.sendMail"];

/** A service and a desk that record what arrives, and a folder from which `cairn` reaches both. */
async function realServices() {
  const arrived: string[] = [];
  const server = createServer((request, response) => {
    arrived.push(`${request.method} ${request.url}`);
    response.setHeader("content-type", "application/json");
    response.end('{"id":"B1"}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const here = createCliFolder({
    CAIRN_BEAT_SECONDS: String((2 * LIMITS.shortBeatMs) / 1_000),
    SERVICE: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  });
  const desk = join(here.dir, "desk");
  mkdirSync(desk);
  writeFileSync(join(desk, "tools.json"), '["look", "post"]');
  const posted = (): number => {
    const file = join(desk, "effects.jsonl");
    return existsSync(file) ? readFileSync(file, "utf8").split('"what":"asked"').length - 1 : 0;
  };
  return { here: { ...here, env: { ...here.env, DESK: desk } }, arrived, posted };
}

test("fakes replace the tools of the whole family in all strategies, and nothing arrives", async () => {
  const { here, arrived, posted } = await realServices();
  const { exit, out } = await runCairn(here, [...TASK, "--gates", "approve"]);
  assertSafety("nothing arrives that was not asked for", () =>
    expect({ arrived, posted: posted() }).toEqual({ arrived: [], posted: 0 }),
  );
  expect(JSON.parse(out)).toMatchObject({
    ...{ ok: true, countedBy: "fakes", tools: { services: [], faked: TOOLS, real: [] } },
    strategies: [
      { strategy: "in-process", killed: 1, answers: { approved: 1 } },
      { strategy: "act-then-save", survived: 1, answers: { approved: 1 } },
      { strategy: "cairn", survived: 1, duplicates: [], missing: [], answers: { approved: 1 } },
    ],
  });
  expect(exit).toBe(0);
});

test("callbacks of an AI SDK agent are called in no strategy", async () => {
  const { here, arrived } = await realServices();
  const words = ["chaos", `${AGENT}#teller`, "--tasks", "1", "--input", '{"invoice":"A-1"}', "--json"];
  const { exit, out } = await runCairn(here, words);
  assertSafety("nothing arrives that was not asked for", () => expect(arrived).toEqual([]));
  expect({ exit, out: JSON.parse(out) }).toMatchObject({ exit: 0, out: { ok: true } });
});

test.each<[says: string, words: readonly string[], code: string]>([
  ["a gate that nothing decides", [], "GateUndecided"],
  ["the flag alone", ["--with-real-effects"], "NotConfirmed"],
  ["a part of the list", ["--gates", "approve", "--with-real-effects", "book,pay"], "NotConfirmed"],
  ["a longer list", ["--with-real-effects", [...TOOLS, "other"].join(",")], "NotConfirmed"],
  ["another decision", ["--gates", "maybe"], "Usage"],
])("nothing arrives with %s", async (_, words, code) => {
  const { here, arrived, posted } = await realServices();
  const { exit, out } = await runCairn(here, [...TASK, "--strategies", "cairn", ...words]);
  assertSafety("nothing arrives that was not asked for", () =>
    expect({ arrived, posted: posted() }).toEqual({ arrived: [], posted: 0 }),
  );
  expect(JSON.parse(out)).toMatchObject({ error: { code } });
  expect(exit).toBe(2);
});

test("the tools whose names are typed act for real, and a denied call of them does not", async () => {
  const { here, arrived, posted } = await realServices();
  const words = ["--strategies", "cairn", "--gates", "deny", "--with-real-effects", TOOLS.join(",")];
  const { out } = await runCairn(here, [...TASK, ...words]);
  expect(JSON.parse(out)).toMatchObject({ ok: true, countedBy: "calls", tools: { faked: [], real: TOOLS } });
  expect([...new Set(arrived)].toSorted()).toEqual(["POST /archive", "POST /book", "POST /mail"]);
  expect(posted()).toBeGreaterThan(0);
});
