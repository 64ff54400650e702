/** The dashboard of a deployment: its alarms, and the graphs that explain them. */
import { ALARMS } from "../src/adapters/aws/metrics.ts";
import { TABLE } from "../src/adapters/aws/table/schema.ts";
import type { DeployedFunction, Names } from "./names.ts";
import { type Plan, functionsOf } from "./plan.ts";
import { type Series, ofCairn, ofFunction, ofIndex, ofLetters, ofMachine, ofTable } from "./series.ts";
import type { Watch } from "./watch.ts";
import { mayFail } from "./watches.ts";

/** The dashboard document of CloudWatch. */
export interface Dashboard {
  readonly widgets: readonly Widget[];
}

export type Widget = Place & (AlarmsWidget | CurvesWidget);

interface Place {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

interface AlarmsWidget {
  readonly type: "alarm";
  readonly properties: { readonly title: string; readonly alarms: readonly string[] };
}

interface CurvesWidget {
  readonly type: "metric";
  readonly properties: {
    readonly title: string;
    readonly region: string;
    readonly view: "timeSeries";
    readonly period: number;
    /** Namespace and metric, then name and value of each dimension, then options for its display. */
    readonly metrics: readonly (readonly (string | Readonly<Record<string, string>>)[])[];
  };
}

/** The columns of a dashboard's grid, and the size of a widget. */
const COLUMNS = 24;
const [WIDTH, HEIGHT] = [8, 6];
const ALARMS_HEIGHT = 5;
/** The maximum number of alarms in one CloudWatch widget. */
const ALARMS_MAX = 100;
const PERIOD_SECONDS = 300;
/** Drawn by no curve, since a dashboard of up to 50 curves is free. They are rare, and have alarms. */
const UNDRAWN: ReadonlySet<string> = new Set<keyof typeof ALARMS>([
  "StoresDiffer",
  "NotRemoved",
  "Expiring",
  "TitleInvalid",
]);

type Curves = readonly [title: string, curves: readonly (readonly [label: string, series: Series])[]];

/** The dashboard of these watches. */
export function dashboardOf(
  names: Names,
  { watches, plan }: { readonly watches: readonly Watch[]; readonly plan: Pick<Plan, "isolated" | "options"> },
): Dashboard {
  const functions = functionsOf(plan);
  const alarms = watches.map(({ name }) => names.alarmArn(name));
  const parts = Array.from({ length: Math.ceil(alarms.length / ALARMS_MAX) }, (_, part) =>
    alarms.slice(part * ALARMS_MAX, (part + 1) * ALARMS_MAX),
  );
  return {
    widgets: [
      ...parts.map((part, index) => ({
        ...{ x: 0, y: index * ALARMS_HEIGHT, width: COLUMNS, height: ALARMS_HEIGHT },
        ...{ type: "alarm" as const, properties: { title: names.prefix, alarms: part } },
      })),
      ...curvesOf(names, functions).map((curves, index) => ({
        x: (index * WIDTH) % COLUMNS,
        y: parts.length * ALARMS_HEIGHT + Math.floor((index * WIDTH) / COLUMNS) * HEIGHT,
        ...{ width: WIDTH, height: HEIGHT },
        ...widgetOf(names, curves),
      })),
    ],
  };
}

function curvesOf(names: Names, functions: readonly DeployedFunction[]): readonly Curves[] {
  const cairn = (metric: Parameters<typeof ofCairn>[1]) => [metric, ofCairn(names, metric)] as const;
  const beats = functions.filter(mayFail).flatMap((fn) =>
    (["p50", "p99"] as const).map((stat) => {
      const label = fn === "beat" ? stat : `${stat} of ${fn}`;
      return [label, ofFunction(names, fn, ["Duration", stat])] as const;
    }),
  );
  const throttles = functions.map((fn) => [fn, ofFunction(names, fn, ["Throttles", "Sum"])] as const);
  const errors = functions
    .filter((fn) => !mayFail(fn))
    .map((fn) => [fn, ofFunction(names, fn, ["Errors", "Sum"])] as const);
  const indexes = TABLE.indexes.map(
    ({ name }) => [`writes of ${name}`, ofIndex(names, name, "WriteThrottleEvents")] as const,
  );
  return [
    ["Beats", [cairn("Beats"), cairn("Takeovers")]],
    ["Runs that ended", [cairn("RunsCompleted"), cairn("RunsFailed"), cairn("RunsCancelled")]],
    ["Runs that wait for a human", [cairn("RunsWaiting"), cairn("RunsBlocked")]],
    ["Runs that were given up", [cairn("CrashLoop"), cairn("Abandoned"), cairn("Expired")]],
    [
      "Alarms of the engine",
      (Object.keys(ALARMS) as (keyof typeof ALARMS)[]).filter((name) => !UNDRAWN.has(name)).map(cairn),
    ],
    ["Sweeps", [cairn("Sweeps")]],
    ["Duration of a beat (milliseconds)", beats],
    ["Throttled functions", throttles],
    ["Failed functions", errors],
    [
      "Capacity of the table",
      [
        ["reads", ofTable(names, "ConsumedReadCapacityUnits")],
        ["writes", ofTable(names, "ConsumedWriteCapacityUnits")],
      ],
    ],
    [
      "Throttled by table and machine",
      [
        ["reads", ofTable(names, "ReadThrottleEvents")],
        ["writes", ofTable(names, "WriteThrottleEvents")],
        ...indexes,
        ["transitions", ofMachine(names, "ExecutionThrottled")],
      ],
    ],
    [
      "Stream (milliseconds behind) and dead letters",
      [
        ["behind", ofFunction(names, "cleanup", ["IteratorAge", "Maximum"])],
        ["dead letters of the stream", ofLetters(names, "stream")],
        ["dead letters of schedules", ofLetters(names, "schedule")],
      ],
    ],
  ];
}

const widgetOf = ({ region }: Names, [title, curves]: Curves): CurvesWidget => ({
  type: "metric",
  properties: {
    ...{ title, region, view: "timeSeries", period: PERIOD_SECONDS },
    metrics: curves.map(([label, { namespace, metric, dimensions, stat }]) => [
      ...[namespace, metric, ...Object.entries(dimensions).flat()],
      { label, stat },
    ]),
  },
});
