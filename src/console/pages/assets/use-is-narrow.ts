import { useMediaQuery } from "@mantine/hooks";

/** As in the style sheet of the list. */
const NARROW = "(width < 48em)";

/** Whether the window is as narrow as a phone's. */
export function useIsNarrow(): boolean {
  return useMediaQuery(NARROW, undefined, { getInitialValueInEffect: false });
}
