/**
 * A whole run in which a secret is passed on in every way that there is, and then every byte that was written is searched
 * for it: rows, objects, archives and files, packed and unpacked, and every line of telemetry.
 */
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { openStore } from "../../src/adapters/local/store/database.ts";
import { localSecrets } from "../../src/adapters/local/secrets.ts";
import { withKernel } from "../../src/features/compose.ts";
import { localWorld } from "../../src/adapters/local/world.ts";
import { virtualClock } from "../../src/adapters/memory/clock.ts";
import { memorySecrets } from "../../src/adapters/memory/secrets.ts";
import { memoryWorld } from "../../src/adapters/memory/world.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import type { TelemetryRecord, World } from "../../src/ports/world.ts";
import { ledger, show, timeline } from "../../src/operations/views.ts";
import { AT } from "../support/states/states-and-events.ts";
import { AWS_ID, TOKEN, formsOf, leaksIn, runWithSecret } from "../support/runs/secret-leaks.ts";

const limits = limitsFor(10_000, { settleMs: 20, skewMs: 20 });

interface Folder {
  readonly world: World;
  readonly records: TelemetryRecord[];
  /** Everything that is stored, by a name for people. */
  readonly stored: () => Readonly<Record<string, Uint8Array>>;
}

function local(): Folder {
  const dir = mkdtempSync(join(tmpdir(), "cairn-leaks-"));
  const store = openStore({ dir, create: true });
  onTestFinished(() => {
    store.close();
    rmSync(dir, { recursive: true, force: true });
  });
  const records: TelemetryRecord[] = [];
  const secrets = localSecrets({ store, env: { AIRLINE_TOKEN: TOKEN }, file: join(dir, "no.env") });
  const telemetry = { record: (record: TelemetryRecord) => void records.push(record) };
  return {
    ...{
      world: withKernel(localWorld({ store, clock: virtualClock(Date.now()), limits, telemetry, secrets })),
      records,
    },
    stored: () => ({ ...filesIn(dir), ...cellsIn(join(dir, "cairn.sqlite")) }),
  };
}

const filesIn = (dir: string): Readonly<Record<string, Uint8Array>> =>
  Object.fromEntries(readdirSync(dir).map((name) => [name, readFileSync(join(dir, name))]));

/** Every cell of every table. */
function cellsIn(file: string): Readonly<Record<string, Uint8Array>> {
  const db = new DatabaseSync(file, { readOnly: true });
  const cells: Record<string, Uint8Array> = {};
  for (const { name: table } of db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all()) {
    for (const [index, row] of db
      .prepare(`SELECT * FROM "${String(table)}"`)
      .all()
      .entries()) {
      for (const [column, value] of Object.entries(row)) {
        const bytes = value instanceof Uint8Array ? value : Buffer.from(String(value));
        cells[`${String(table)} ${index} ${column}`] = bytes;
      }
    }
  }
  db.close();
  return cells;
}

function memory(): Folder {
  const records: TelemetryRecord[] = [];
  const telemetry = { record: (record: TelemetryRecord) => void records.push(record) };
  const secrets = memorySecrets({ AIRLINE_TOKEN: TOKEN });
  const world = withKernel(memoryWorld({ limits, clock: virtualClock(AT), telemetry, secrets }));
  const { rows, messages, objects, turns } = world.store;
  const stored = (): Readonly<Record<string, Uint8Array>> => ({
    ...Object.fromEntries(objects),
    ...Object.fromEntries([...rows].map(([run, row]) => [`journal of ${run}`, row.journal ?? new Uint8Array()])),
    rest: Buffer.from(JSON.stringify([[...rows.values()], [...messages], [...turns]])),
  });
  return { world, records, stored };
}

describe.each([
  ["the embedded world", local],
  ["the world in memory", memory],
])("in %s", (_, room) => {
  test("no byte and no output line contains a secret, whatever the outcome of the run", async () => {
    const { world, records, stored } = room();
    const seen = { tokens: [], inputs: [] };
    const { run, routes, edit, input } = await runWithSecret(world, seen);
    // It went all the way, and its tools had the secret.
    expect(routes).toEqual(["park", "park", "done"]);
    expect(seen.tokens).toEqual([TOKEN, TOKEN]);
    // What ran is what was recorded, in the process that died and in the one after it.
    expect(seen.inputs.slice(0, 2)).toEqual([REFERENCE, REFERENCE]);
    const forms = [...formsOf(TOKEN), AWS_ID, "4242 4242", "0123456789abcdefghij"];
    const leaks = Object.entries(stored()).flatMap(([where, bytes]) =>
      leaksIn(bytes, forms).map((form) => `${where}: ${form}`),
    );
    expect(leaks).toEqual([]);
    expect(records.flatMap((record) => leaksIn(Buffer.from(JSON.stringify(record)), forms))).toEqual([]);
    expect(leaksIn(Buffer.from(edit + input), forms)).toEqual([]);
    expect(input).toMatch(/it holds \[secret AIRLINE_TOKEN\][^]*at url/);
    expect(edit).toMatch(/leave it out/);
    const shown = [await show(world, run), await timeline(world, { run, after: 0 }), await ledger(world, run)];
    // Each of them was there to be replaced: nothing passes because nothing was said.
    expect(JSON.stringify(shown).split(REFERENCE).length).toBeGreaterThan(30);
    expect(JSON.stringify(shown)).toMatch(/"\[redacted by-its-tool\]"[^]*Basic \[redacted|Basic YWRh.{0,3}\[secret/);
    const lines = records.map(({ detail }) => detail["line"] ?? detail["why"]).filter((line) => line !== undefined);
    expect(lines).toContain(`the token is ${REFERENCE}`);
    expect(lines).toContain(`it says ${REFERENCE}`);
  });
});

const REFERENCE = "[secret AIRLINE_TOKEN]";

test("planted secrets are found in each of their forms", () => {
  const forms = formsOf(TOKEN);
  const plain = [TOKEN, JSON.stringify({ TOKEN }), `?t=${encodeURIComponent(TOKEN)}`];
  const coded = ["", "u", "us", "use"].map((before) => Buffer.from(`${before}${TOKEN} now`).toString("base64"));
  for (const planted of [...plain, ...coded]) expect(leaksIn(Buffer.from(planted), forms)).not.toEqual([]);
});
