/** Draws the cost of each beat. Its colours are those of the page, also when the theme changes later. */
import uPlot from "uplot";

const HEIGHT = 220;

/** Returns what removes the chart. */
export function drawCosts(into: HTMLElement, usd: readonly number[]): () => void {
  const resolved = (name: string): string => {
    // `light-dark()` becomes a colour only on an element.
    into.style.color = `var(${name})`;
    const { color } = getComputedStyle(into);
    into.style.color = "";
    return color;
  };
  const axis = { stroke: resolved("--quiet"), grid: { stroke: resolved("--line"), width: 1 }, ticks: { show: false } };
  const chart = new uPlot(
    {
      ...{ width: into.clientWidth, height: HEIGHT, legend: { show: false }, cursor: { show: false } },
      scales: { x: { time: false } },
      axes: [
        { ...axis, label: "beat", labelSize: 16, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500] },
        { ...axis, size: 64, values: (_, splits) => splits.map((each) => `$${Number(each.toPrecision(3))}`) },
      ],
      series: [
        {},
        {
          ...{ stroke: resolved("--accent"), fill: resolved("--accent-wash"), width: 2 },
          points: { show: usd.length < 60 },
          ...(uPlot.paths.stepped && { paths: uPlot.paths.stepped({ align: 1 }) }),
        },
      ],
    },
    [usd.map((_, index) => index + 1), [...usd]],
    into,
  );
  const observer = new ResizeObserver(() => chart.setSize({ width: into.clientWidth, height: HEIGHT }));
  observer.observe(into);
  return () => {
    observer.disconnect();
    chart.destroy();
  };
}
