/** The bar of a meter, and the warning of a budget that is nearly used up. */
import type { BudgetMeter } from "../../operations/budget-meter.ts";
import { levelOf, shareOf, warningOf } from "../model/budget.ts";
import { Icon } from "./icons.tsx";

/** The words beside it say what it shows. */
export const MeterBar = ({ of }: { readonly of: BudgetMeter }) => (
  <span class={`meter ${levelOf(of)}`} aria-hidden="true">
    <i style={{ width: `${(shareOf(of) * 100).toFixed(1)}%` }} />
  </span>
);

export function BudgetWarning({
  budget,
  beside,
  isShort = false,
}: {
  readonly budget: readonly BudgetMeter[];
  readonly beside?: BudgetMeter["meter"];
  readonly isShort?: boolean;
}) {
  const warning = warningOf(budget, beside);
  if (warning === null) return null;
  return (
    <span class={warning.level === "used" ? "bad" : "warn"} title={warning.words}>
      <Icon name="needs" size={12} /> {isShort ? <span class="unseen">{warning.words}</span> : warning.words}
    </span>
  );
}
