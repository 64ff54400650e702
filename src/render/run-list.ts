/** Renders a list of runs: a table, or two lines a run on a narrow page. */
import type { Summary } from "../operations/views.ts";
import { noteWords } from "./outage.ts";
import { type Cell, type Column, type Style, plain, table, widthOf } from "./paint.ts";
import { INKS, spentOf } from "./run.ts";
import { count, relative, labelsText, short, shortRun, titleWords } from "./words.ts";

/** What the other columns of a list take, about, and what a title has of a page that is narrower. */
const BESIDE_TITLE = 110;
const TITLE_CHARACTERS_MIN = 32;

export function renderList(runs: readonly Summary[], page: Style): string {
  const { now } = page;
  const ids = runs.map(({ run }) => run).toSorted();
  // The IDs are sorted, so only neighbours can share a prefix.
  const nameOf = new Map(ids.map((run, index) => [run, shortRun(run, ids.slice(Math.max(0, index - 1), index + 2))]));
  const hasTitles = runs.some((run) => titleWords(run) !== "");
  const hasLabels = runs.some(({ labels }) => labelsText(labels) !== "");
  const titleMax = Math.max(TITLE_CHARACTERS_MIN, page.width - BESIDE_TITLE);
  const columns: readonly Column[] = [
    { title: "RUN" },
    { title: "AGENT" },
    ...(hasTitles ? [{ title: "TITLE" }] : []),
    ...(hasLabels ? [{ title: "LABELS" }] : []),
    { title: "STATUS" },
    { title: "SINCE" },
    { title: "BEATS", align: "right" },
    { title: "TAKEOVERS", align: "right" },
    { title: "SPENT", align: "right" },
    { title: "STARTED" },
    { title: "LAST CHECKPOINT" },
  ];
  const hasNotes = runs.some((run) => noteWords(run, now) !== null);
  const rows = runs.map((run): Cell[] => [
    nameOf.get(run.run) ?? run.run,
    run.agent,
    ...(hasTitles ? [short(titleWords(run), titleMax)] : []),
    ...(hasLabels ? [labelsText(run.labels)] : []),
    statusCell(run),
    relative(run.statusSince, now),
    String(run.beats),
    run.takeovers === 0 ? "0" : { text: String(run.takeovers), ink: "yellow" },
    spentOf(run),
    relative(run.createdAt, now),
    relative(run.lastCheckpointAt, now),
    ...(hasNotes ? [noteWords(run, now) ?? ""] : []),
  ]);
  const all = hasNotes ? [...columns, { title: "NOTE" }] : columns;
  const widest = Math.max(...table(all, rows, plain).map(widthOf));
  // A log, which is 160 columns wide, always has the table.
  const isNarrow = page.width < BESIDE_TITLE + TITLE_CHARACTERS_MIN && widest > page.width;
  return (isNarrow ? compactRows(runs, { nameOf, page }) : table(all, rows, page.paint)).join("\n");
}

/** On a page too narrow for the table: two lines a run, and one for its title and labels: who and what, then what it took. */
function compactRows(
  runs: readonly Summary[],
  { nameOf, page }: { readonly nameOf: ReadonlyMap<string, string>; readonly page: Style },
): readonly string[] {
  const { now, paint, width } = page;
  return runs.flatMap((run) => {
    const { text, ink } = statusCell(run);
    const deaths = run.takeovers === 0 ? "" : `, ${count(run.takeovers, "takeover")}`;
    const took = `${count(run.beats, "beat")}${deaths}, ${spentOf(run)}, started ${relative(run.createdAt, now)}`;
    const note = noteWords(run, now);
    const title = short([titleWords(run), labelsText(run.labels)].filter((word) => word !== "").join("  "), width - 2);
    return [
      `${nameOf.get(run.run) ?? run.run}  ${run.agent}  ${paint(ink, text)} since ${relative(run.statusSince, now).replace(/ ago$/, "")}`,
      ...(title === "" ? [] : [`  ${title}`]),
      paint("dim", `  ${took}${note === null ? "" : `; ${note}`}`),
    ];
  });
}

function statusCell({ status, storeOutage, needsNewer, restored, inProgress }: Summary): Exclude<Cell, string> {
  if (needsNewer === true) return { text: `${status}, needs a newer cairn`, ink: "yellow" };
  if (restored != null && inProgress) return { text: `${status}, restored`, ink: "yellow" };
  return storeOutage === null
    ? { text: status, ink: INKS[status] }
    : { text: `${status}, store unavailable`, ink: "yellow" };
}
