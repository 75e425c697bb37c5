import { Button, Group, NativeSelect, Text, TextInput, Title } from "@mantine/core";
import { type ReactNode, useState } from "react";
import type { AlertRule } from "../../../protocol/api-types.ts";
import {
  ALERT_CONDITION_NAMES,
  ALERT_CONDITIONS,
  ALERT_SEVERITIES,
  type AlertCondition,
  type ConditionDefault,
} from "../../../protocol/alerts/condition.ts";
import { conditionTitle } from "../../parts/alert-words.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { formatDuration } from "../../parts/durations.ts";
import { Form, PendingButton } from "../../parts/form.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { FailureNote } from "../../parts/failure-note.tsx";
import { toFailure } from "../../api/failure.ts";
import classes from "./alerts.module.css";
import { DurationField } from "./duration-field.tsx";
import { describeRule, type RuleFields, fieldsOfCondition, ruleFieldsOf, ruleOf, unitOf } from "./rule-fields.ts";
import { type ReadSettings, useChangeSettings } from "./settings-data.ts";

type Row = AlertRule & { readonly index: number };

const COLUMNS: readonly Column<Row>[] = [
  { header: "Condition", renderCell: ({ condition }) => <strong>{conditionTitle(condition)}</strong> },
  {
    header: "Assets",
    renderCell: ({ selector }) => (selector === "*" ? "all" : <SafeText text={selector} max={200} />),
  },
  { header: "Differs", renderCell: (rule) => describeRule(rule) },
];

/** What differs from the defaults of conditions. */
export function RulesSection({ read }: { readonly read: ReadSettings }): ReactNode {
  const [edited, setEdited] = useState<{ readonly index: number | undefined }>();
  const change = useChangeSettings(read);
  const rows = read.settings.rules.map((rule, index): Row => ({ ...rule, index }));
  const actions: Column<Row> = {
    header: "Actions",
    hidesHeader: true,
    isNarrow: true,
    renderCell: ({ index, condition }) => (
      <Group gap="xs" justify="end" align="start" wrap="nowrap" className={classes.actions}>
        <Button size="xs" variant="default" onClick={() => setEdited({ index })}>
          Change<span className="visually-hidden"> {conditionTitle(condition)}</span>
        </Button>
        {index > 0 && (
          <Button
            size="xs"
            variant="default"
            onClick={() => change.mutate((now) => ({ ...now, rules: movedUp(now.rules, index) }))}
          >
            Move up<span className="visually-hidden"> {conditionTitle(condition)}</span>
          </Button>
        )}
        <PendingButton
          size="xs"
          variant="default"
          loading={change.isPending}
          onClick={() => change.mutate((now) => ({ ...now, rules: now.rules.filter((_rule, at) => at !== index) }))}
        >
          Remove<span className="visually-hidden"> {conditionTitle(condition)}</span>
        </PendingButton>
      </Group>
    ),
  };
  return (
    <section aria-labelledby="rules">
      <Group justify="space-between" mb="xs">
        <Title order={2} id="rules">
          Rules
        </Title>
        <Button size="xs" onClick={() => setEdited({ index: undefined })}>
          Add a rule
        </Button>
      </Group>
      <Text size="sm" mb="xs">
        Every condition has a default. A rule changes it for some assets; the first one that matches applies.
      </Text>
      {rows.length > 0 && (
        <Table label="Rules" columns={[...COLUMNS, actions]} rows={rows} keyOf={({ index }) => String(index)} />
      )}
      {change.error && <FailureNote failure={toFailure(change.error)} />}
      {edited && <RuleDialog read={read} index={edited.index} onClose={() => setEdited(undefined)} />}
    </section>
  );
}

/** Returns the rules with the one at the place before the one before it. */
function movedUp<T>(rules: readonly T[], index: number): T[] {
  return rules.flatMap((rule, at) => {
    if (at === index) return [];
    const moved = rules[index];
    return at === index - 1 && moved ? [moved, rule] : [rule];
  });
}

interface DialogProps {
  readonly read: ReadSettings;
  /** Place of the rule that is changed; `undefined` for a new one. */
  readonly index: number | undefined;
  readonly onClose: () => void;
}

function RuleDialog({ read, index, onClose }: DialogProps): ReactNode {
  return (
    <Dialog isOpen onClose={onClose} label={index === undefined ? "Add a rule" : "Change the rule"}>
      <RuleForm read={read} index={index} onSaved={onClose} />
    </Dialog>
  );
}

interface FormProps {
  readonly read: ReadSettings;
  readonly index: number | undefined;
  readonly onSaved: () => void;
}

function RuleForm({ read, index, onSaved }: FormProps): ReactNode {
  const [fields, setFields] = useState(() =>
    ruleFieldsOf(
      (index === undefined ? undefined : read.settings.rules[index]) ?? { condition: "device_offline", selector: "*" },
    ),
  );
  const set = (change: Partial<RuleFields>): void => setFields({ ...fields, ...change });
  const save = useChangeSettings(read);
  const byDefault: ConditionDefault = ALERT_CONDITIONS[fields.condition];
  const { level } = byDefault;
  return (
    <Form
      action={index === undefined ? "Add" : "Save"}
      isPending={save.isPending}
      error={save.error}
      canSubmit={fields.selector.trim() !== ""}
      onSubmit={() =>
        save.mutate(
          // A new rule comes first: what is said last is what is meant.
          (now) => ({
            ...now,
            rules:
              index === undefined
                ? [ruleOf(fields), ...now.rules]
                : now.rules.map((rule, at) => (at === index ? ruleOf(fields) : rule)),
          }),
          { onSuccess: onSaved },
        )
      }
    >
      <NativeSelect
        label="Condition"
        data={ALERT_CONDITION_NAMES.map((value) => ({ value, label: conditionTitle(value) }))}
        value={fields.condition}
        onChange={({ currentTarget }) => set(fieldsOfCondition(currentTarget.value as AlertCondition))}
      />
      <TextInput
        label="Assets"
        description="By their tags, as in role=van. * is all assets, and what is no asset."
        value={fields.selector}
        spellCheck={false}
        autoComplete="off"
        onChange={({ currentTarget }) => set({ selector: currentTarget.value })}
      />
      <NativeSelect
        label="Alerts"
        data={[
          { value: "", label: `as by default: ${byDefault.enabled ? "on" : "off"}` },
          { value: "on", label: "on" },
          { value: "off", label: "off" },
        ]}
        value={fields.enabled}
        onChange={({ currentTarget }) => set({ enabled: currentTarget.value as RuleFields["enabled"] })}
      />
      <NativeSelect
        label="Severity"
        data={[
          { value: "", label: `as by default: ${byDefault.severity}` },
          ...ALERT_SEVERITIES.map((value) => ({ value, label: value })),
        ]}
        value={fields.severity}
        onChange={({ currentTarget }) => set({ severity: currentTarget.value as RuleFields["severity"] })}
      />
      <DurationField
        label="Fires after"
        description={`Empty: as by default, ${byDefault.forS === 0 ? "at once" : formatDuration(byDefault.forS)}.`}
        value={fields.forS}
        onChange={(forS) => set({ forS })}
      />
      {level && (
        <TextInput
          type="number"
          label={`${level.side === "above" ? "Above" : "Below"}, in ${unitOf(fields.condition)}`}
          description={`Empty: as by default, ${level.limit}. The mean of 15 minutes counts. At ${level.side === "above" ? "least" : "most"} ${level.widest}.`}
          value={fields.limit}
          onChange={({ currentTarget }) => set({ limit: currentTarget.value })}
        />
      )}
      {fields.condition === "agent_outdated" && (
        <TextInput
          label="Versions before"
          description="Such as 1.4.0. Empty: those for which the service has had a newer release for that long."
          value={fields.olderThan}
          spellCheck={false}
          autoComplete="off"
          onChange={({ currentTarget }) => set({ olderThan: currentTarget.value })}
        />
      )}
    </Form>
  );
}
