/** The command of this program that measures the machine, prints what it read, and ends. */
export const MEASURE_COMMAND = "measure";
