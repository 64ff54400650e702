/** Files of tasks and tools in S3: larger than a row or a Lambda payload may be, and whole after a process death. */
import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { sha256 } from "../../src/codec/canonical.ts";
import { readFile } from "../../src/history/files.ts";
import { contentsOf } from "../../src/operations/files.ts";
import { startRun } from "../../src/operations/start.ts";
import { ledger } from "../../src/operations/views.ts";
import { negativeOf, scanner } from "./fixtures/scanner.ts";
import { dying, ended, laneOf, leaveMark, started } from "./lane.ts";

const lane = laneOf("lane");
/** A row of DynamoDB has 400 KB at most, a payload of Lambda 6 MB, and base64 needs a third more. */
const BYTES = 7_000_000;

test("a task brings a file that no row or payload could carry, and a tool makes another, although its process dies", async () => {
  const bytes = randomBytes(BYTES);
  const sent = contentsOf([{ name: "scan.bin", base64: bytes.toString("base64") }]);
  if (!sent.ok) throw new Error(sent.why);
  const of = { agent: scanner, input: { name: "scan.bin" }, files: sent.contents, key: "scan" };
  const row = await started({ world: dying(lane.world) }, of);
  const { run } = row;
  leaveMark(`scan-${run}`);
  await startRun(lane.world, { ...of, tenant: row.tenant, idempotencyKey: of.key });
  const shown = await ended(lane, run);
  const negative = negativeOf(bytes);
  expect(shown).toMatchObject({
    status: "completed",
    result: { read: BYTES, negative: { file: sha256(negative), bytes: BYTES, name: "negative.bin" } },
  });
  expect(shown.files.map(({ file, name, source }) => ({ file, name, source }))).toEqual([
    { file: sha256(bytes), name: "scan.bin", source: "task" },
    { file: sha256(negative), name: "negative.bin", source: "tool:scan" },
  ]);
  expect((await ledger(lane.world, run))?.map(({ tool, attempts }) => ({ tool, attempts }))).toEqual([
    { tool: "scan", attempts: 2 },
  ]);
  const stored = await Promise.all(shown.files.map(({ file }) => readFile(lane.world.objects, row, file)));
  expect(stored.map((each) => Buffer.from(each).equals(Buffer.from(bytes)))).toEqual([true, false]);
  expect(Buffer.from(stored[1] ?? []).equals(Buffer.from(negative))).toBe(true);
});
