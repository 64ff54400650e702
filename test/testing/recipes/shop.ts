/** What stands for the shop of the recipe in its test. */
export const invoicesSince = async (_since: number): Promise<readonly string[]> => [];

export const remind = async (_invoice: string, _key: string): Promise<{ readonly sent: boolean }> => ({ sent: true });
