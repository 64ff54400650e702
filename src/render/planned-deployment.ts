/** Renders what a deployment would make: its resources, its functions with their sizes, and what is missing for it. */
import type { DeploymentLack, PlannedDeployment, PlannedFunction } from "../ports/planned-deployment.ts";
import { type Paint, fittedTable } from "./paint.ts";
import { count } from "./words.ts";

const KINDS: Readonly<Record<PlannedDeployment["resources"][number]["kind"], string>> = {
  table: "table",
  bucket: "bucket",
  stateMachine: "state machine",
  api: "HTTP API",
  schedule: "schedule",
  queue: "dead letters",
  alarms: "alarms",
  dashboard: "dashboard",
  topic: "topic",
};

export function renderPlanned(
  { resources, functions, secrets, missing }: PlannedDeployment,
  style: { readonly paint: Paint; readonly width: number },
): string {
  const { paint } = style;
  return [
    ...fittedTable(
      [{ title: "RESOURCE" }, { title: "NAME" }, { title: "" }],
      resources.map(({ kind, name, says }) => [KINDS[kind], name, says]),
      style,
    ),
    "",
    ...fittedTable(
      [
        { title: "FUNCTION" },
        { title: "MEMORY", align: "right" },
        { title: "TIMEOUT", align: "right" },
        { title: "RESERVED", align: "right" },
        { title: "AT START", align: "right" },
        { title: "IN ALL", align: "right" },
        { title: "FILES", align: "right" },
      ],
      functions.map((each) => [
        each.name,
        `${each.memoryMb} MB`,
        `${each.seconds} s`,
        each.reserved === null ? "" : String(each.reserved),
        ...sizesOf(each),
      ]),
      style,
    ),
    "",
    ...(secrets.length === 0 ? [] : [`secrets to set in the Parameter Store: ${secrets.join(", ")}`]),
    paint(
      "dim",
      "PREFIX is the app and the stage of sst.config.ts; what cairn() says there beside the config is not counted here.",
    ),
    ...missing.flatMap((each) => missingLines(each, paint)),
    missing.length === 0
      ? paint("green", "nothing is missing; npx sst deploy --stage dev makes it")
      : paint("red", `${count(missing.length, "thing")} missing`),
  ].join("\n");
}

function sizesOf({ bundle }: PlannedFunction): readonly string[] {
  if (bundle === null) return ["", "", ""];
  const kilobytes = (bytes: number): string => `${Math.ceil(bytes / 1_024)} KB`;
  return [kilobytes(bundle.startBytes), kilobytes(bundle.bytes), String(bundle.files)];
}

const missingLines = ({ code, what, next }: DeploymentLack, paint: Paint): readonly string[] => [
  `${paint("red", "✖")} ${code}: ${what}`,
  `  ${paint("dim", "→")} ${next}`,
];
