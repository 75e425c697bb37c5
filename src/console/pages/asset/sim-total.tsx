import { Stack, Text } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Age } from "../../parts/age.tsx";
import { formatTime } from "../../parts/durations.ts";
import { formatBytes } from "../../parts/format-bytes.ts";
import { Loaded } from "../../parts/loaded.tsx";
import { Note } from "../../parts/note.tsx";
import { SIM_NAMES, type SimType } from "../sims/sim-words.ts";
import type { SimUsage } from "./sim-queries.ts";
import { isOutdated } from "./usage-difference.ts";

interface Props {
  readonly type: SimType;
  readonly usage: UseQueryResult<SimUsage>;
  /** End of the period, in Unix seconds. */
  readonly to: number;
  /** Whether it says which SIM it is. */
  readonly isNamed: boolean;
}

/** What the operator of a SIM counted in all, until when that is final, and when it said so. */
export function SimTotal({ type, usage, to, isNamed }: Props): ReactNode {
  return (
    <Loaded query={usage}>
      {(answer) => (
        <Stack gap="xs">
          {answer.as_of !== undefined && isOutdated(answer, to) && (
            <Note kind="warn" title={`Figures of ${formatTime(answer.as_of)}: the operator has said nothing newer.`}>
              It may not be answering. What it said last is shown until it does.
            </Note>
          )}
          <Text size="sm" component="div">
            {isNamed && `${SIM_NAMES[type]}: `}
            {formatBytes(answer.usages.reduce((sum, { total }) => sum + total, 0))} by the operator's count, final up to{" "}
            {formatTime(answer.finalized_until)}.
            {answer.as_of !== undefined && (
              <>
                {" "}
                The operator was asked <Age at={answer.as_of} />.
              </>
            )}
          </Text>
        </Stack>
      )}
    </Loaded>
  );
}
