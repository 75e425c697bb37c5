import { Anchor, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { Link } from "react-router";
import type { RolloutAttempt, RolloutTarget } from "../../api/types.ts";
import { Age } from "../../parts/age.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import classes from "./rollout.module.css";

const MAX_LINES = 5;

/** What a target went through, also before it went back: closed at first, since most people look at a few. */
export function PastAttempts({ target }: { readonly target: RolloutTarget }): ReactNode {
  const { attempts, asset_id: asset } = target;
  if (attempts.length === 0) return null;
  return (
    <details className={classes.past}>
      <summary>{attempts.length === 1 ? "1 past attempt" : `${attempts.length} past attempts`}</summary>
      <ol>
        {attempts.map((attempt) => (
          <li key={`${attempt.direction} ${attempt.attempt}`}>
            <PastAttempt asset={asset} attempt={attempt} />
          </li>
        ))}
      </ol>
    </details>
  );
}

function PastAttempt({ asset, attempt }: { readonly asset: string; readonly attempt: RolloutAttempt }): ReactNode {
  const { direction, attempt: number, state, code, message, deployment_id: id, ended_at: endedAt, logs } = attempt;
  const lines = (logs ?? "").split("\n").filter((line) => line !== "");
  const label = `Attempt ${number}${direction === "back" ? " to go back" : ""}`;
  return (
    <>
      <Text size="xs" component="div">
        {id === undefined ? (
          label
        ) : (
          <Anchor component={Link} to={`/assets/${asset}/deployments/${id}`} inherit underline="always">
            {label}
          </Anchor>
        )}
        {`: ${state.replaceAll("_", " ")}${code === undefined ? "" : `, ${code}`}, `}
        <Age at={endedAt} />
      </Text>
      {message !== undefined && (
        <Text size="xs" component="div">
          <SafeText text={message} max={500} />
        </Text>
      )}
      {lines.length > 0 && (
        <pre className={classes.output}>
          {lines.slice(-MAX_LINES).map((line, index) => (
            // Lines have no identity of their own.
            // oxlint-disable-next-line react/no-array-index-key
            <div key={index}>
              <SafeText text={line} max={300} />
            </div>
          ))}
        </pre>
      )}
    </>
  );
}
