import { Code, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { DeploymentEvent } from "../../../protocol/api-types.ts";
import { Age } from "../../parts/age.tsx";
import { Note } from "../../parts/note.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { adviceFor } from "./advice.ts";
import classes from "./deployment.module.css";

const MAX_FACT_LENGTH = 500;
const MAX_LINE_LENGTH = 2000;

/** How a deployment failed: what is in the way, what to do, and the last output. */
export function DeploymentFailure({ event }: { readonly event: DeploymentEvent }): ReactNode {
  const { code, message, details, timestamp } = event;
  const { facts, next, output } = adviceFor(code, details, useTableHint(code));
  return (
    <Note kind="bad" title={<SafeText text={message} />}>
      {facts.length > 0 && (
        <ul className={classes.facts}>
          {facts.map((fact) => (
            <li key={fact}>
              <SafeText text={fact} max={MAX_FACT_LENGTH} />
            </li>
          ))}
        </ul>
      )}
      {next !== undefined && (
        <Text size="sm" component="div" my={4}>
          <strong>What to do: </strong>
          <SafeText text={next} />
        </Text>
      )}
      {output.length > 0 && (
        // What scrolls must be reachable by keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <pre className={classes.output} tabIndex={0} aria-label="Output" role="region">
          {output.map((line, index) => (
            // Lines have no identity of their own.
            // oxlint-disable-next-line react/no-array-index-key
            <div key={index}>
              <SafeText text={line} max={MAX_LINE_LENGTH} isMultiline />
            </div>
          ))}
        </pre>
      )}
      <div>
        Code: <Code>{code ?? "none"}</Code> · ended <Age at={timestamp} />
      </div>
    </Note>
  );
}

/** What the error table advises. The table is loaded with the first failure. */
function useTableHint(code: string | undefined): string | undefined {
  const { data } = useQuery({
    queryKey: ["error-table"],
    queryFn: async (): Promise<Readonly<Record<string, { readonly hint: string }>>> => {
      return (await import("../../../protocol/errors/errors.ts")).ERRORS;
    },
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    enabled: code !== undefined,
  });
  return code === undefined ? undefined : data?.[code]?.hint;
}
