/** The rules for single files: where each holds, and what its author does about a violation. */
import * as rules from "./rules.ts";
import { trespassing } from "./rooms.ts";
import { LIMIT_RULES } from "./limit-rules.ts";
import { SURFACE_RULES } from "./surface-rules.ts";

const CORE = "src/core/x.ts";
const TEST = "test/core/x.test.ts";
const lines = (count: number): string => "\n".repeat(count - 1);

export const RULES: readonly rules.Rule[] = [
  {
    says: "a room imports what its table row allows",
    todo: "move the code to a room that may import this, or pass it in; a new room gets a row in ROOMS (test/support/rules/rooms.ts)",
    where: /./,
    check: trespassing,
    bites: [
      [CORE, 'import { z } from "zod";'],
      [CORE, 'import type { World } from "../ports/world.ts";'],
      [CORE, 'const fs = await import("node:fs");'],
      ["src/ports/x.ts", 'export * from "../engine/beat.ts";'],
      ["src/engine/x.ts", 'import { localWorld } from "../adapters/local/world.ts";'],
      ["src/adapters/local/x.ts", 'import { beat } from "../../engine/loop/beat.ts";'],
      ["src/adapters/local/x.ts", 'import { dynamoTable } from "../aws/run-table.ts";'],
      ["src/adapters/local/x.ts", 'type World = import("../../sdk/define.ts").Agent;'],
      ["src/adapters/local/x.ts", 'import type { Pool } from "../../workers/workers.ts";'],
      ["src/cli/x.ts", 'import { localWorld } from "../adapters/local/world.ts";'],
      ["src/compose/x.ts", 'import type { Client } from "../client/client.ts";'],
      ["src/client/x.ts", 'const { runProcess } = await import("../cli/process.ts");'],
      ["src/workers/x.ts", 'import { settingsOf } from "../compose/settings.ts";'],
      ["src/cli/x.ts", 'import { drive } from "../../test/support/harness/drive.ts";'],
      ["src/cli/x.ts", 'import { planOf } from "../../infra/plan.ts";'],
      ["src/doctor/x.ts", 'import { inspectAws } from "../adapters/aws/inspection.ts";'],
      ["src/adapters/aws/x.ts", 'import { definitionOf } from "../../../infra/asl.ts";'],
      ["src/newroom/x.ts", "export const x = 1;"],
      ["src/core/x.ts", 'import { waitIn } from "../features/waits/core.ts";'],
      ["src/engine/loop/x.ts", 'import type { Answer } from "../../features/waits/core.ts";'],
      ["src/features/waits/engine.ts", 'import { gateIn } from "../approvals/core.ts";'],
      ["src/features/waits/core.ts", 'import type { World } from "../../ports/world.ts";'],
      ["src/features/waits/core-x.ts", 'import { endWait } from "./engine.ts";'],
      ["src/features/archive/replay.ts", 'import { KERNEL } from "../compose.ts";'],
      ["src/features/waits/engine.ts", 'import { startRun } from "../../operations/start.ts";'],
      ["src/adapters/local/x.ts", 'import { waitIn } from "../../features/waits/core.ts";'],
      ["src/engine/model/topology.ts", "export const x = 1;"],
    ],
    spares: [
      [CORE, 'import { ensure } from "./invariant.ts";'],
      ["src/features/waits/engine.ts", 'import { x } from "./core.ts"; import { y } from "../../engine/loop/z.ts";'],
      ["src/features/topologies/debate/core.ts", 'import { x } from "../boss/core-x.ts";'],
      ["src/operations/x.ts", 'import { waitIn } from "../features/waits/core.ts";'],
      ["src/core/topologies/x.ts", 'import type { State } from "../state.ts";'],
      ["src/sdk/x.ts", 'import type { LanguageModelV4 } from "@ai-sdk/provider";'],
      ["src/cli/x.ts", 'import { settingsOf } from "../compose/settings.ts"; import { Command } from "commander";'],
    ],
  },
  {
    says: "the AWS SDK stays in its adapter, and in tests of clients that users bring",
    todo: "reach AWS through a port, and use its SDK in src/adapters/aws",
    where:
      /^(?!src\/adapters\/aws\/|localstack\/|test\/(localstack|support\/services)\/|test\/support\/providers\/bedrock\.ts$)/,
    check: rules.usingAws,
    bites: [["src/effects/x.ts", 'import type { S3 } from "@aws-sdk/client-s3";']],
    spares: [["src/cli/x.ts", 'import { awsWorld } from "../adapters/aws/world.ts";']],
  },
  {
    says: "the environment is read by composition roots",
    todo: "take the value as a parameter or an option; a composition root reads the environment",
    // The hooks of resolution read `NODE_OPTIONS`, which is an argument of Node and no setting of cairn.
    where:
      /^src\/(?!client\/open-store\.ts$|sdk\/resolution\.ts$|cli\/process\.ts$|compose\/workers\/(worker|held-worker)\.ts$|chaos\/(chaos|loop)-worker\.ts$)/,
    check: rules.readingEnvironment,
    bites: [
      ["src/sdk/x.ts", "const key = process.env.KEY;"],
      ["src/sdk/x.ts", 'import { env } from "node:process";'],
      ["src/sdk/x.ts", 'const key = process.env["KEY"];'],
    ],
    spares: [["src/sdk/x.ts", "const key = options.env.KEY; process.exitCode = 1;"]],
  },
  {
    says: "the core and the protocol are pure",
    todo: "take time, chance and what was awaited as parameters, or move the code to src/engine",
    where: /^src\/(core|protocol)\/|^src\/features\/.*\/core(-[a-z-]+)?\.ts$/,
    check: rules.impure,
    bites: [
      [CORE, "const now = Date.now();"],
      [CORE, "export type Later = Promise<number>;"],
      [CORE, "export async function f() {}"],
      [CORE, "await load();"],
      [CORE, "const x = Math.random();"],
      [CORE, "setTimeout(f, 1);"],
      [CORE, "console.log(process.pid);"],
    ],
    spares: [[CORE, 'const row = { Date: 1, process: "Promise" }; // no await\nrow.process; Math.max(1, 2);']],
  },
  {
    says: "time and chance come through ports",
    todo: "use world.clock and world.random, or a timer of the world",
    where: /^src\/(codec|ports|history|engine|features|operations|maintenance)\//,
    check: rules.timeless,
    bites: [
      ["src/engine/x.ts", "const at = new Date();"],
      ["src/engine/x.ts", "const at = Date.now();"],
      ["src/engine/x.ts", "setTimeout(resolve, 5);"],
      ["src/engine/x.ts", "AbortSignal.timeout(5);"],
      ["src/codec/x.ts", 'import { randomUUID } from "node:crypto";'],
    ],
    spares: [
      [
        "src/engine/x.ts",
        "run.world.clock.now(); world.random.hex(); AbortSignal.any([]); new Date(at); Date.parse(text);",
      ],
    ],
  },
  {
    says: "what depends on an effect class is read from the effect table",
    todo: "read a field of EFFECTS (src/core/calls/effects.ts), or add one there",
    where: /^src\/(?!core\/calls\/effects\.ts$|effects\/|mcp-tools\/)/,
    check: rules.namingEffect,
    bites: [
      ["src/engine/x.ts", 'if (tool.effect === "keyed") f();'],
      ["src/engine/x.ts", 'switch (effect) { case "unsafe": f(); }'],
      ["src/engine/x.ts", 'if (["keyed", "probed"].includes(effect)) f();'],
      ["src/engine/x.ts", 'const acts = open.intent?.effect !== "none";'],
      ["src/engine/x.ts", 'const isFree = "none" === effect;'],
      ["src/codec/x.ts", 'const schema = z.enum(["none", "keyed"]);'],
    ],
    spares: [
      ["src/engine/x.ts", "if (EFFECTS[tool.effect].mayRepeat && one.effect === two.effect) f();"],
      ["src/engine/x.ts", 'const isUnset = priceFrom.kind === "none"; const why = "an unsafe tool";'],
      ["src/core/x.ts", "const row = EFFECTS.keyed; // keyed, not probed"],
    ],
  },
  {
    says: `a file has at most ${rules.FILE_LINES_MAX} lines, or says why it has more`,
    todo: "divide the file by concepts, or say in its header: More than 400 lines: REASON",
    where: /./,
    check: rules.longFile,
    bites: [[CORE, `${lines(rules.FILE_LINES_MAX + 1)};`]],
    spares: [
      [CORE, `${lines(rules.FILE_LINES_MAX)};\n`],
      [CORE, `/** A table. More than 400 lines: it is data. */${lines(rules.FILE_LINES_MAX + 1)};`],
    ],
  },
  {
    says: `a function has at most ${rules.FUNCTION_LINES_MAX} lines`,
    todo: "give parts of the function names of their own",
    where: /./,
    check: rules.longFunction,
    bites: [
      [CORE, `const say = "…𝄞";\nexport function f() {${lines(rules.FUNCTION_LINES_MAX + 1)}}`],
      [CORE, `class A { m() {${lines(rules.FUNCTION_LINES_MAX + 1)}} }`],
      [TEST, `test("x", () => {${lines(rules.FUNCTION_LINES_MAX + 1)}});`],
    ],
    spares: [
      [CORE, `export function f() {${lines(rules.FUNCTION_LINES_MAX)}}`],
      [TEST, `describe.each([1])("x", () => {${lines(rules.FUNCTION_LINES_MAX + 1)}});`],
    ],
  },
  {
    says: "no file lies more than two folders below src, or three in an adapter or a feature",
    todo: "move the file up, or divide its folder",
    where: /^src\//,
    check: rules.deep,
    bites: ["src/engine/loop/deep/x.ts", "src/adapters/local/store/deep/x.ts", "src/features/a/b/c/x.ts"].map(
      (path) => [path, ""] as const,
    ),
    spares: ["src/engine/loop/x.ts", "src/adapters/local/store/x.ts", "src/features/topologies/debate/x.ts"].map(
      (path) => [path, ""] as const,
    ),
  },
  {
    says: "no default export",
    todo: "export it by its name",
    where:
      /^(?!(vitest(\.(browser|infra|localstack))?|sst|templates\/chat\/page\/vite)\.config\.ts$|scripts\/verify\/reporter\.ts$)/,
    check: rules.defaultExport,
    bites: [
      [CORE, "export default 1;"],
      [CORE, "const x = 1; export { x as default };"],
    ],
    spares: [[CORE, 'import canonicalize from "canonicalize"; export const x = 1;']],
  },
  {
    says: "no enum, no namespace",
    todo: "use a union of literals, or a module",
    where: /./,
    check: rules.unerasable,
    bites: [
      [CORE, "enum E { A }"],
      [CORE, "namespace N { export const x = 1; }"],
    ],
    spares: [
      [CORE, 'const e = z.enum(["a"]);'],
      ["functions/x.d.ts", 'declare module "x" { export const x: number; }'],
    ],
  },
  {
    says: "no any",
    todo: "name the type, or take unknown and narrow it",
    where: /./,
    check: rules.anything,
    bites: [[CORE, "const x = (y: any) => y as unknown as Array<any>;"]],
    spares: [[CORE, "const any = { any: z.any() };"]],
  },
  {
    says: "names say what a thing is",
    todo: "name what it is, not that it is something: see docs/glossary.md",
    where: /./,
    check: rules.badName,
    bites: [
      ["src/core/job-manager.ts", ""],
      [CORE, "function f(userInfo: string) {}"],
      [CORE, "interface Locks { readonly x: number }"],
      [CORE, "interface X { readonly rawData: number }"],
      [CORE, "const { message: sessionId } = x; const [, helper] = y;"],
      [CORE, 'import { x as utils } from "./y.ts";'],
    ],
    spares: [
      [
        "src/core/clock.ts",
        "const { data } = zod.safeParse(x); fetch({ data }); const block = x.data; const metadata = 1;",
      ],
    ],
  },
  {
    says: "no test is skipped, focused, excused or retried",
    todo: "mend the test or remove it: a test that fails now and then has found something",
    where: /^test\/|^vitest\..*config/,
    check: rules.excusedTest,
    bites: [
      [TEST, 'test.skip("x", f);'],
      [TEST, 'describe.only.each([1])("x", f);'],
      [TEST, 'it.todo("x");'],
      [TEST, 'test.skipIf(CI)("x", f);'],
      [TEST, 'test("x", { retry: 3 }, f);'],
      [TEST, 'test("x", ({ skip }) => skip());'],
      ["vitest.config.ts", "export default defineConfig({ test: { retry: 1 } });"],
    ],
    spares: [[TEST, 'test("x", { timeout: 9 }, () => claimed(row, { retry: 1 })); page.skip; options.only = true;']],
  },
  {
    says: "no test sleeps",
    todo: "wait for the event: expect.poll, waitForCount (test/support/gate/safety.ts), or the virtual clock",
    where: /\.test\.ts$/,
    check: rules.sleepingTest,
    bites: [
      [TEST, "await new Promise((resolve) => setTimeout(resolve, 50));"],
      [TEST, 'import { setTimeout as sleep } from "node:timers/promises";'],
      [TEST, "Atomics.wait(cell, 0, 0, 50);"],
    ],
    spares: [[TEST, "await expect.poll(() => seen).toBe(1); clock.after(5, f); setTimeout(() => child.kill(), 300);"]],
  },
  {
    says: "an assertion names what it compares",
    todo: 'compare an object: expect({ status, replies }).toEqual({ status: "completed", replies: 2 })',
    where: /^test\//,
    check: rules.unnamedTuple,
    bites: [
      [TEST, 'expect([status, replies.length]).toEqual(["completed", 2]);'],
      [TEST, "expect([deaths, takeovers]).toEqual([0, 1]);"],
      [TEST, "expect([isMoved, calls]).toEqual(isFirst ? [true, 0] : [false, 1]);"],
      [TEST, 'expect([row.deaths, row.status] as const, "why").toMatchObject([0, "completed"]);'],
      [TEST, "expect([page, ...broken(page)]).not.toStrictEqual([page]);"],
    ],
    spares: [
      [
        TEST,
        'expect([isOver(1), isOver(2)]).toEqual([false, true]); expect([one.status, two.status]).toEqual(["a", "b"]);',
      ],
      [
        TEST,
        "expect([...first, ...rest]).toEqual([1, 2, 3]); expect(kinds).toEqual([1, null]); expect([it]).toEqual([1]);",
      ],
      [TEST, "expect([status, replies]).toEqual(before); expect(Object.keys([status, 2])).toEqual([0, 1]);"],
    ],
  },
  ...SURFACE_RULES,
  ...LIMIT_RULES,
];
