/**
 * Works on a list of items, several at a time, and tells how far it got without a gap. Results are reported in the
 * order of the items. So a cursor that follows them never passes over an item that is still under way.
 */

interface Lanes<Item, Result> {
  readonly items: readonly Item[];
  /** How many items at most are under way at once. */
  readonly lanes: number;
  /** Whether the item at this index may begin. Once it may not, no later item may. */
  readonly mayBegin: (index: number) => boolean;
  readonly perform: (item: Item) => Promise<Result>;
  /** Takes the result of each item, in the order of the items. */
  readonly finished: (result: Result) => void;
  /** Hears which item is now the oldest that is under way. */
  readonly oldest: (index: number) => void;
}

/**
 * Performs the items and returns how many it began: all of those have finished when it returns.
 *
 * @throws the first error of `perform`, after all that began have finished
 */
export async function performInLanes<Item, Result>(work: Lanes<Item, Result>): Promise<number> {
  const results = new Map<number, Result>();
  const errors: unknown[] = [];
  let [begun, done] = [0, 0];
  const report = (): void => {
    for (let result = results.get(done); results.has(done); result = results.get(done)) {
      results.delete(done);
      done += 1;
      work.finished(result as Result);
    }
    if (done < begun) work.oldest(done);
  };
  const lane = async (): Promise<void> => {
    for (let item = work.items[begun]; item !== undefined; item = work.items[begun]) {
      if (errors.length > 0 || !work.mayBegin(begun)) return;
      const index = begun;
      begun += 1;
      if (index === done) work.oldest(index);
      try {
        results.set(index, await work.perform(item));
        report();
      } catch (error) {
        errors.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: work.lanes }, lane));
  if (errors.length > 0) throw errors[0];
  return begun;
}
