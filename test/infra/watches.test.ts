/**
 * The alarms, without AWS: an operator can understand each of them, and docs/operations.md describes the same alarms.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { METRICS } from "../../src/adapters/aws/metrics.ts";
import { dashboardOf } from "../../infra/dashboard.ts";
import { namesOf } from "../../infra/names.ts";
import { cracksTable, operationsTable } from "../../infra/operations.ts";
import { planOf } from "../../infra/plan.ts";
import { watchesOf } from "../../infra/watches.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const NAMES = namesOf("cairn-dev", { partition: "aws", region: "eu-west-1", account: "123456789012" });

const page = readFileSync(join(ROOT, "docs/operations.md"), "utf8");
const plan = planOf({}, []);
const watches = watchesOf(NAMES, plan);

describe("the page for operators", () => {
  test("lists all alarms; update it with npm run operations", () => {
    expect(page).toContain(`<!-- watches:begin -->\n${operationsTable()}\n<!-- watches:end -->`);
  });

  test("and the page of topologies lists all cracks", () => {
    const topologies = readFileSync(join(ROOT, "docs/topologies.md"), "utf8");
    expect(topologies).toContain(`<!-- cracks:begin -->\n${cracksTable()}\n<!-- cracks:end -->`);
  });

  test("names every alarm once", () => {
    const named = [...page.matchAll(/^\| ((?:`[a-z-]+` ?)+)\|/gm)].flatMap(
      ([, cell = ""]) => cell.match(/[a-z-]+/g) ?? [],
    );
    const own = watches.map(({ name }) => name);
    expect(named.toSorted()).toEqual(own.toSorted());
  });

  test("adds up the cost of the alarms", () => {
    const alarmed = watches.reduce((sum, { of }) => sum + (of.kind === "percent" ? 2 : 1), 0);
    const metrics = Object.keys(METRICS).length;
    const curves = dashboardOf(NAMES, { watches, plan }).widgets.reduce(
      (sum, widget) => sum + (widget.type === "metric" ? widget.properties.metrics.length : 0),
      0,
    );
    const text = page.replaceAll(/\s+/g, " ");
    expect(text).toContain(`whose ${metrics} metrics all count`);
    expect(text).toContain(`with ${alarmed} metrics under alarm and one dashboard of ${curves} curves`);
    const most = metrics * 0.3 + alarmed * 0.1 + 3;
    const alone = (metrics - 10) * 0.3 + (alarmed - 10) * 0.1;
    expect(text).toContain(`is $${most.toFixed(2)} a month at most, $${alone.toFixed(2)} if it is alone`);
    expect(curves).toBeLessThanOrEqual(50);
  });
});

describe("the sweeper", () => {
  const silence = (sweepMinutes: number): number => {
    const plan = planOf({ deploy: { sweepMinutes } }, []);
    const found = watchesOf(NAMES, plan).find(({ name }) => name === "sweeper-silent");
    return ((found?.periods ?? 0) * (found?.periodSeconds ?? 0)) / 60;
  };

  test.each([
    [1, 30],
    [5, 30],
    [10, 30],
    [11, 35],
    [60, 180],
  ])("that runs every %i minutes raises its alarm after %i minutes of silence", (sweepMinutes, minutes) => {
    expect(silence(sweepMinutes)).toBe(minutes);
  });
});

describe("a route that a beat throws as an error", () => {
  const beat = NAMES.functionName("beat");

  test("counts as a Lambda error of that function, which no alarm and no curve reads", () => {
    const series = watches.flatMap(({ of }) => (of.kind === "series" ? [of.series] : [of.part, of.whole]));
    const isRead = series.some((each) => each.metric === "Errors" && each.dimensions["FunctionName"] === beat);
    expect(isRead).toBe(false);
    const curves = dashboardOf(NAMES, { watches, plan }).widgets.flatMap((widget) =>
      widget.type === "metric" ? widget.properties.metrics.map((curve) => curve.slice(0, 4).join(" ")) : [],
    );
    expect(curves).toContain(`AWS/Lambda Errors FunctionName ${NAMES.functionName("park")}`);
    expect(curves).not.toContain(`AWS/Lambda Errors FunctionName ${beat}`);
  });

  test("does not match the command that shows an operator why beats died", () => {
    const typed = watches.flatMap(({ todo }) => todo.match(/`aws logs tail \S+-beat [^`]+`/g) ?? []);
    const patterns = typed.map((command) => /--filter-pattern '(.+)'/.exec(command)?.[1] ?? "");
    expect(patterns.length).toBeGreaterThan(5);
    // It matches cairn's messages and stack lines, and Lambda's messages except the names of routes.
    const isNarrow = /^\{ \$\.message = "\w+" \}$|\$\.service = "beat"|\$\.record\.errorType != "Cairn\*"/;
    for (const pattern of patterns) expect(pattern).toMatch(isNarrow);
  });
});

test.each(watches.map(({ name, means, todo }) => [name, means, todo]))(
  "%s says what it means and what to do",
  (_, means, todo) => {
    expect(means).toMatch(/^[A-Z].{20,}[^.]$/);
    expect(todo).toMatch(/.{20,}[^.]$/);
    // Commands are complete and name this deployment.
    expect(todo.split("`").length % 2).toBe(1);
    expect(todo).not.toMatch(/\$\{|undefined|PREFIX/);
  },
);
