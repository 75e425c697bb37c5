import { Checkbox } from "@mantine/core";
import type { ReactNode } from "react";
import { ALERT_CONDITION_NAMES, type AlertCondition } from "../../../protocol/alerts/condition.ts";
import { conditionTitle } from "../../parts/alert-words.ts";
import classes from "./alerts.module.css";

interface Props {
  /** `undefined`: all of them. */
  readonly value: readonly AlertCondition[] | undefined;
  readonly onChange: (value: readonly AlertCondition[] | undefined) => void;
}

/** All conditions, or some of them. */
export function ConditionChoice({ value, onChange }: Props): ReactNode {
  return (
    <div>
      <Checkbox
        label="Every condition"
        checked={value === undefined}
        onChange={({ currentTarget }) => onChange(currentTarget.checked ? undefined : [])}
      />
      {value && (
        <fieldset className={classes.choices}>
          <legend className="visually-hidden">Conditions</legend>
          {ALERT_CONDITION_NAMES.map((name) => (
            <Checkbox
              key={name}
              size="xs"
              label={conditionTitle(name)}
              checked={value.includes(name)}
              onChange={({ currentTarget }) =>
                onChange(currentTarget.checked ? [...value, name] : value.filter((each) => each !== name))
              }
            />
          ))}
        </fieldset>
      )}
    </div>
  );
}
