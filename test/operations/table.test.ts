/** The operation table: every row says all that a surface needs, and the command line has it as it says. */
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { performOperation } from "../../src/operations/perform.ts";
import { type AnyOperation, SCOPES, type OutcomeReport } from "../../src/operations/operation.ts";
import { OPERATIONS, ROWS } from "../../src/operations/table.ts";
import { createLocalHarness } from "../support/harness/drive.ts";
import { runCli } from "../support/processes/cli-in-process.ts";
import { temporaryDir } from "../process/fixtures/store.ts";

const OPERATIONS_DIR = join(import.meta.dirname, "..", "..", "src", "operations");

const rows = Object.entries(ROWS);

/** Which statuses go with an exit code. */
const STATUSES: { readonly [E in OutcomeReport["exit"]]: readonly number[] } = {
  done: [200, 202],
  failed: [200],
  usage: [413, 422],
  notFound: [404],
  refused: [409, 429],
  store: [500],
};

describe.each(rows)("the operation %s", (_, operation: AnyOperation) => {
  test("has a scope, a help text, an input schema, and a text for each outcome", () => {
    const { scope, writes, help, input, outcomes } = operation;
    expect(SCOPES).toContain(scope);
    expect(writes && scope === "runs:read").toBe(false);
    expect(help).toMatch(/^[a-z].{10,100}[^.]$/);
    expect(input).toBeInstanceOf(z.ZodObject);
    expect(input.safeParse({ surprise: 1 }).success).toBe(false);
    expect(Object.keys(outcomes)).not.toEqual([]);
    for (const { says } of Object.values(outcomes)) expect(says).toMatch(/^[A-Z].+\.$/);
  });

  test("reports each outcome alike at the command line and over HTTP", () => {
    for (const { exit, status, code } of Object.values(operation.outcomes)) {
      // What is typed again with a confirmation is a request of the right form that the state refuses.
      expect(code === "NotConfirmed" ? [409] : STATUSES[exit]).toContain(status);
      expect(code === null).toBe(status < 400);
    }
  });

  test("is a command, or an option of one, with the same help text", async () => {
    expect(operation.typed).not.toEqual([]);
    for (const { command, option, help = operation.help } of operation.typed) {
      const { exit, out } = await runCli(temporaryDir(), ...command.split(" "), "--help");
      expect(exit).toBe(0);
      const words = out.replaceAll(/\s+/g, " ");
      expect(words).toContain(option ?? help);
    }
  });
});

test("five operations are reached through the store alone, each with its reason, and every other one also has a route", () => {
  const storeOnly = rows.filter(([, { over }]) => over.length === 1);
  expect(Object.fromEntries(storeOnly.map(([name, row]) => [name, row.storeOnly]))).toEqual({
    checkedAll: expect.stringMatching(/needs the store itself/),
    restored: expect.stringMatching(/needs the store itself/),
    tokenCreate: expect.stringMatching(/a stolen one makes no other/),
    tokenList: expect.stringMatching(/a stolen one shows no other/),
    tokenRevoke: expect.stringMatching(/an operator does that/),
  });
  for (const [name, { over, http, routeOf, storeOnly: why }] of rows) {
    const routes = [http, routeOf].filter((route) => route !== undefined);
    expect({ name, routes: routes.length, isWithoutReason: why === undefined }).toEqual({
      name,
      routes: over.length - 1,
      isWithoutReason: over.length === 2,
    });
    if (routeOf !== undefined) expect(Object.fromEntries(rows)[routeOf.operation]?.http).toBeDefined();
  }
});

test("each file of an operation is one row of the table, which has its name", () => {
  const files = readdirSync(OPERATIONS_DIR, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".operation.ts"))
    .map((file) =>
      basename(file, ".operation.ts").replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    );
  expect(files.toSorted()).toEqual(Object.keys(ROWS).toSorted());
});

test("an input that does not fit its schema is refused before any work", async () => {
  const { world } = createLocalHarness();
  const context = { world, by: "ann", tenant: "local", agentOf: async () => null };
  const wrong = { run: "local-x", text: 7 as unknown as string };
  await expect(async () => performOperation(OPERATIONS.send, context, wrong)).rejects.toThrow("text");
});
