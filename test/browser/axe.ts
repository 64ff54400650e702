/** The rules of axe, and the size of what a finger has to hit. A page needs `bypassCSP`, since its policy refuses injected code. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Violations {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
}

/** What breaks a rule below the element that `scope` selects; default: on the whole page. */
export async function violationsOf(page: Page, scope?: string): Promise<readonly string[]> {
  if (!(await page.evaluate<boolean>("window.axe !== undefined"))) await page.evaluate(AXE);
  const of = scope === undefined ? "document" : JSON.stringify(scope);
  const { violations } = await page.evaluate<Violations>(`axe.run(${of}, { resultTypes: ["violations"] })`);
  return violations.map(({ id, nodes }) => `${id} ${nodes[0]?.html.slice(0, 120) ?? ""}`);
}

const TARGETS = "button, .button, summary, select, input, textarea, nav a, .row a, [role=option], .need .line > a";

/** The controls that are less than 40 px high. A box counts with its label; links in a sentence are not controls. */
export const smallTargets = (page: Page, scope: string): Promise<readonly string[]> =>
  page.evaluate<readonly string[]>(`[...document.querySelectorAll(${JSON.stringify(scope)})]
    .flatMap((part) => [...part.querySelectorAll(${JSON.stringify(TARGETS)})])
    .map((each) => (/checkbox|radio/.test(each.type) ? each.closest("label") ?? each : each))
    .filter((each) => each.getClientRects().length > 0 && each.getBoundingClientRect().height < 39.5)
    .map((each) => each.outerHTML.slice(0, 100) + " " + each.getBoundingClientRect().height)`);
