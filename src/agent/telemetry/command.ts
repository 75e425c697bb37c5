/** The command that measures the machine, prints the readings, and exits. */
export const MEASURE_COMMAND = "measure";
