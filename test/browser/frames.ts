/** Scrolls a part of a page by wheel, and counts what each frame costs. */
import type { CDPSession, Page } from "playwright-core";

/** Counts of one scroll. Times are in milliseconds, and say something about the machine only. */
export interface Scrolled {
  readonly frames: number;
  /** Frames that came so late that another one was left out, at 60 a second. */
  readonly late: number;
  /** Tasks of more than 50 ms. */
  readonly longTasks: number;
  readonly layoutsPerFrame: number;
  readonly stylesPerFrame: number;
  readonly taskMsPerFrame: number;
  readonly scriptMsPerFrame: number;
  /** The most elements that the page had. */
  readonly elements: number;
}

const WATCH = `
(() => {
  const seen = { deltas: [], longTasks: 0, elements: 0, isOver: false };
  window.scrollSeen = seen;
  new PerformanceObserver((list) => (seen.longTasks += list.getEntries().length)).observe({ type: "longtask" });
  let before = performance.now();
  const frame = (at) => {
    seen.deltas.push(at - before);
    before = at;
    seen.elements = Math.max(seen.elements, document.getElementsByTagName("*").length);
    if (!seen.isOver) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})()`;

const RESULT = `(() => { window.scrollSeen.isOver = true; return window.scrollSeen; })()`;

/** Turns the wheel over what lies in the middle of the element, some of it down and the rest up. */
export async function scroll(
  page: Page,
  of: { readonly over: string; readonly turns: number; readonly pixels: number },
): Promise<Scrolled> {
  const box = await page.locator(of.over).first().boundingBox();
  if (box === null) throw new Error(`${of.over} is not in sight`);
  await page.mouse.move(box.x + box.width / 2, box.y + Math.min(box.height, 400) / 2);
  const devtools = await page.context().newCDPSession(page);
  // CPU time of the main thread: other processes of a busy machine do not count.
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
  const before = await metricsOf(devtools);
  await page.evaluate(WATCH);
  for (let turn = 0; turn < of.turns; turn += 1) {
    await page.mouse.wheel(0, turn < (2 * of.turns) / 3 ? of.pixels : -of.pixels);
    await page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))");
  }
  const seen = await page.evaluate<{ deltas: number[]; longTasks: number; elements: number }>(RESULT);
  const after = await metricsOf(devtools);
  await devtools.detach();
  const frames = Math.max(1, seen.deltas.length);
  const perFrame = (name: string, scale = 1): number =>
    Number(((scale * ((after.get(name) ?? 0) - (before.get(name) ?? 0))) / frames).toFixed(2));
  return {
    frames,
    late: seen.deltas.filter((ms) => ms > 25).length,
    longTasks: seen.longTasks,
    layoutsPerFrame: perFrame("LayoutCount"),
    stylesPerFrame: perFrame("RecalcStyleCount"),
    taskMsPerFrame: perFrame("TaskDuration", 1_000),
    scriptMsPerFrame: perFrame("ScriptDuration", 1_000),
    elements: seen.elements,
  };
}

async function metricsOf(devtools: CDPSession): Promise<ReadonlyMap<string, number>> {
  const { metrics } = await devtools.send("Performance.getMetrics");
  return new Map(metrics.map(({ name, value }) => [name, value]));
}
