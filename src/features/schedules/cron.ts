/**
 * Translates cron expressions of EventBridge Scheduler to those of the library that computes them. The library wants
 * seconds in front, days of the week by name, and ranges where AWS writes `0/15`. An expression that only one of the
 * two accepts is refused, so that an agent that runs locally can also be deployed.
 */
import { Cron } from "croner";

const MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Names for the numbers from `min` on. */
  readonly names?: readonly string[];
  /** Translates syntax that only this field has; null for anything else. `value` reads one plain value. */
  readonly special?: (part: string, value: (text: string) => string | null) => string | null;
  readonly steps?: false;
}

const FIELDS: readonly Field[] = [
  { name: "minutes", min: 0, max: 59 },
  { name: "hours", min: 0, max: 23 },
  {
    name: "day of month",
    min: 1,
    max: 31,
    special: (part, value) => {
      if (part === "L") return part;
      const day = /^(\d+)W$/.exec(part)?.[1];
      return day === undefined || value(day) === null ? null : part;
    },
  },
  { name: "month", min: 1, max: 12, names: MONTHS },
  {
    name: "day of week",
    min: 1,
    max: 7,
    names: DAYS,
    steps: false,
    special: (part, value) => {
      if (part === "L") return "SAT";
      const [, text = "", last, nth] = /^(\w+?)(?:(L)|#([1-5]))$/.exec(part) ?? [];
      const day = value(text);
      return day === null ? null : `${day}#${last ?? nth ?? ""}`;
    },
  },
  { name: "year", min: 1970, max: 2199 },
];

/**
 * The times of a cron expression on a wall clock, as epoch milliseconds of the same digits in UTC. Null: no such time.
 */
export interface Calendar {
  readonly after: (wall: number) => number | null;
  readonly before: (wall: number) => number | null;
}

/** Parses the text within `cron(...)`. A returned text says what is wrong with it. */
export function parseCron(text: string): Calendar | string {
  const written = text.trim().split(/\s+/);
  if (written.length !== FIELDS.length) {
    return `it has ${written.length} fields and needs ${FIELDS.length}: ${FIELDS.map(({ name }) => name).join(", ")}`;
  }
  const [, , dayOfMonth, , dayOfWeek] = written;
  if ((dayOfMonth === "?") === (dayOfWeek === "?")) return "exactly one of day of month and day of week is ?";
  const read = FIELDS.map((field, index) => parseField(field, (written[index] ?? "").toUpperCase()));
  const wrong = read.find((each) => each.kind === "wrong");
  if (wrong !== undefined) return wrong.text;
  const cron = new Cron(["0", ...read.map((each) => each.text)].join(" "), { paused: true, timezone: "UTC" });
  if (cron.nextRun(new Date(0)) === null) return "no date matches it, so it would never fire";
  return {
    after: (wall) => cron.nextRun(new Date(wall))?.getTime() ?? null,
    before: (wall) => cron.previousRuns(1, new Date(wall))[0]?.getTime() ?? null,
  };
}

const DAY_NAMES = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/**
 * The days of the week of `cron(...)`, where they are written as numbers: in most other crons 1 is a Monday. Null: they are
 * written otherwise.
 */
function numberedDays(every: string): string | null {
  const days = /^cron\((?:\s*\S+\s+){4}([1-7](?:[-,#][1-7])*)\s+\S+\s*\)$/.exec(every)?.[1];
  if (days === undefined) return null;
  const parts = days.split(",").map(
    (part) =>
      part
        .split("#")[0]
        ?.split("-")
        .map((day) => DAY_NAMES[Number(day) - 1]) ?? [],
  );
  return parts.map((ends) => ends.join(" to ")).join(", ");
}

/** What a reader of the schedule may not expect; null: nothing. */
export function surpriseIn({ agent, every }: { readonly agent: string; readonly every: string }): string | null {
  const days = numberedDays(every);
  if (days === null) return null;
  return `the schedule of ${agent}, ${every}, fires on ${days}: days of the week count from 1 = Sunday, as on AWS; write names, such as MON-FRI`;
}

type Read = { readonly kind: "read" | "wrong"; readonly text: string };

function parseField(field: Field, written: string): Read {
  if (written === "?") {
    return field.special === undefined ? wrongWith(field, written) : { kind: "read", text: "*" };
  }
  const parts = written.split(",");
  const read = parts.map((part) => parsePart(field, part) ?? (parts.length === 1 ? parseSpecial(field, part) : null));
  return read.includes(null) ? wrongWith(field, written) : { kind: "read", text: read.join(",") };
}

/** Syntax such as `L`, `15W` or `MON#2` must be the only part of its field, as on AWS. */
const parseSpecial = (field: Field, part: string): string | null =>
  field.special?.(part, (text) => valueOf(field, text)) ?? null;

const wrongWith = ({ name, min, max, names }: Field, written: string): Read => {
  const named = names === undefined ? "" : ` or ${names[0]} to ${names.at(-1)}`;
  return { kind: "wrong", text: `the ${name} is ${written}, and has values from ${min} to ${max}${named}` };
};

function parsePart(field: Field, part: string): string | null {
  const value = (text: string): string | null => valueOf(field, text);
  const [range = "", step, ...more] = part.split("/");
  if (more.length > 0 || (step !== undefined && !isStep(field, step))) return null;
  const [from = "", to, ...rest] = range.split("-");
  if (range === "*") return step === undefined ? "*" : `${field.min}-${field.max}/${step}`;
  const [first, last] = [value(from), to === undefined ? null : value(to)];
  if (first === null) return null;
  if (to === undefined) return step === undefined ? first : `${first}-${field.max}/${step}`;
  const isRange = rest.length === 0 && last !== null && order(field, first) <= order(field, last);
  if (!isRange) return null;
  return step === undefined ? `${first}-${last}` : `${first}-${last}/${step}`;
}

const isStep = ({ steps, max }: Field, step: string): boolean =>
  steps !== false && /^[1-9]\d*$/.test(step) && Number(step) <= max;

/** One value in the library's syntax: a day of the week by name, everything else as a number. Null if invalid. */
function valueOf({ min, max, names }: Field, text: string): string | null {
  const named = names?.indexOf(text) ?? -1;
  const value = named >= 0 ? named + min : /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) return null;
  return names === DAYS ? (DAYS[value - 1] ?? null) : String(value);
}

const order = ({ names }: Field, value: string): number => (names === DAYS ? DAYS.indexOf(value) : Number(value));
