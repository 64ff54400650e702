/** What an operator sees of a deployment at one look: its alarms, and the curves that explain them. */
import { ALARMS } from "../src/adapters/aws/metrics.ts";
import { TABLE } from "../src/adapters/aws/schema.ts";
import { FUNCTIONS, type Names } from "./names.ts";
import { type Series, ofCairn, ofFunction, ofIndex, ofLetters, ofMachine, ofTable } from "./series.ts";
import type { Watch } from "./watch.ts";
import { MAY_FAIL } from "./watches.ts";

/** As CloudWatch takes it. */
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
    /** Namespace and name, then a name and a value for each dimension, then how it is shown. */
    readonly metrics: readonly (readonly (string | Readonly<Record<string, string>>)[])[];
  };
}

/** Columns of the grid of a dashboard, and what each widget takes of it. */
const COLUMNS = 24;
const [WIDTH, HEIGHT] = [8, 6];
const ALARMS_HEIGHT = 5;
const PERIOD_SECONDS = 300;

type Curves = readonly [title: string, curves: readonly (readonly [label: string, series: Series])[]];

export function dashboardOf(names: Names, watches: readonly Watch[]): Dashboard {
  const alarms = watches.map(({ name }) => names.alarmArn(name));
  return {
    widgets: [
      ...[{ x: 0, y: 0, width: COLUMNS, height: ALARMS_HEIGHT }].map((place) => ({
        ...place,
        ...{ type: "alarm" as const, properties: { title: names.prefix, alarms } },
      })),
      ...curvesOf(names).map((curves, index) => ({
        x: (index * WIDTH) % COLUMNS,
        y: ALARMS_HEIGHT + Math.floor((index * WIDTH) / COLUMNS) * HEIGHT,
        ...{ width: WIDTH, height: HEIGHT },
        ...widgetOf(names, curves),
      })),
    ],
  };
}

function curvesOf(names: Names): readonly Curves[] {
  const cairn = (metric: Parameters<typeof ofCairn>[1]) => [metric, ofCairn(names, metric)] as const;
  const beat = (stat: "p50" | "p99") => [stat, ofFunction(names, "beat", ["Duration", stat])] as const;
  const throttles = FUNCTIONS.map((fn) => [fn, ofFunction(names, fn, ["Throttles", "Sum"])] as const);
  const errors = FUNCTIONS.filter((fn) => !MAY_FAIL.has(fn)).map(
    (fn) => [fn, ofFunction(names, fn, ["Errors", "Sum"])] as const,
  );
  const indexes = TABLE.indexes.map(
    ({ name }) => [`writes of ${name}`, ofIndex(names, name, "WriteThrottleEvents")] as const,
  );
  return [
    ["Beats", [cairn("Beats"), cairn("Takeovers")]],
    ["Runs that ended", [cairn("RunsCompleted"), cairn("RunsFailed"), cairn("RunsCancelled")]],
    ["Runs that wait for people", [cairn("RunsWaiting"), cairn("RunsBlocked")]],
    ["Runs that were given up", [cairn("CrashLoop"), cairn("Abandoned"), cairn("Expired")]],
    ["What the runner raised", (Object.keys(ALARMS) as (keyof typeof ALARMS)[]).map(cairn)],
    ["Sweeps", [cairn("Sweeps")]],
    ["Milliseconds of a beat", [beat("p50"), beat("p99")]],
    ["Functions turned away", throttles],
    ["Functions that failed", errors],
    [
      "Capacity of the table",
      [
        ["reads", ofTable(names, "ConsumedReadCapacityUnits")],
        ["writes", ofTable(names, "ConsumedWriteCapacityUnits")],
      ],
    ],
    [
      "Turned away by table and machine",
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
        ["letters of the stream", ofLetters(names, "stream")],
        ["letters of schedules", ofLetters(names, "schedule")],
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
