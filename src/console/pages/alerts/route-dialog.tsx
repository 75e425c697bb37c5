import { Checkbox, Group, NativeSelect, Text, TextInput } from "@mantine/core";
import { type ReactNode, useState } from "react";
import type { AlertRouteBodyInput, QuietHours } from "../../../protocol/api-types.ts";
import { ALERT_SEVERITIES } from "../../../protocol/alerts/condition.ts";
import { SEVERITIES } from "../../parts/alert-words.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { formatDuration } from "../../parts/durations.ts";
import { Form } from "../../parts/form.tsx";
import classes from "./alerts.module.css";
import { ConditionChoice } from "./condition-choice.tsx";
import { DurationField } from "./duration-field.tsx";
import { fieldsOf, type RouteFields, routeOf } from "./route-fields.ts";
import { type ReadSettings, useChangeSettings } from "./settings-data.ts";

const REPEATS = [3600, 4 * 3600, 12 * 3600, 24 * 3600];

interface Props {
  readonly read: ReadSettings;
  /** Name of the route that is changed; `undefined` for a new one. */
  readonly name: string | undefined;
  readonly onClose: () => void;
}

/** Adds a route or changes one: which alerts are told to which channels, and when. */
export function RouteDialog({ read, name, onClose }: Props): ReactNode {
  const label = name === undefined ? "Add a route" : `Change the route ${name}`;
  return (
    <Dialog isOpen onClose={onClose} label={label}>
      <RouteForm read={read} name={name} onSaved={onClose} />
    </Dialog>
  );
}

const NEW_ROUTE: AlertRouteBodyInput = { channels: [] };

interface FormProps {
  readonly read: ReadSettings;
  readonly name: string | undefined;
  readonly onSaved: () => void;
}

function RouteForm({ read, name: given, onSaved }: FormProps): ReactNode {
  const { routes, channels } = read.settings;
  const [typedName, setName] = useState(given ?? "");
  const [fields, setFields] = useState(() => fieldsOf((given === undefined ? undefined : routes[given]) ?? NEW_ROUTE));
  const set = (change: Partial<RouteFields>): void => setFields({ ...fields, ...change });
  const save = useChangeSettings(read);
  const name = typedName.trim();
  const isTaken = given === undefined && Object.hasOwn(routes, name);
  const { severities, conditions, quietHours } = fields;
  return (
    <Form
      action={given === undefined ? "Add" : "Save"}
      isPending={save.isPending}
      error={save.error}
      canSubmit={
        name !== "" && !isTaken && fields.channels.length > 0 && severities.length > 0 && conditions?.length !== 0
      }
      onSubmit={() =>
        save.mutate((now) => ({ ...now, routes: { ...now.routes, [name]: routeOf(fields) } }), { onSuccess: onSaved })
      }
    >
      {given === undefined && (
        <TextInput
          label="Name"
          description="Lower-case letters, digits and hyphens, such as night."
          error={isTaken && "There is a route with this name."}
          value={typedName}
          spellCheck={false}
          autoComplete="off"
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
      )}
      <Checks
        label="Channels, all of which get the messages"
        options={Object.keys(channels).map((value) => ({ value, label: value }))}
        value={fields.channels}
        onChange={(chosen) => set({ channels: chosen })}
      />
      <Checks
        label="Severities"
        options={ALERT_SEVERITIES.map((value) => ({ value, label: SEVERITIES[value].label }))}
        value={severities}
        onChange={(chosen) => set({ severities: chosen })}
      />
      <ConditionChoice value={conditions} onChange={(chosen) => set({ conditions: chosen })} />
      <TextInput
        label="Assets"
        description="By their tags, as in site=pump-7. * is all assets, and what is no asset."
        value={fields.selector}
        spellCheck={false}
        autoComplete="off"
        onChange={({ currentTarget }) => set({ selector: currentTarget.value })}
      />
      <DurationField
        label="Only after"
        description="How long the condition has held: for a second route that escalates."
        value={fields.forS}
        onChange={(forS) => set({ forS })}
      />
      <DurationField
        label="The first message waits"
        description="For what belongs to it, ten minutes at most."
        value={fields.groupWait}
        onChange={(groupWait) => set({ groupWait })}
      />
      <NativeSelect
        label="Repeat"
        description="Until the alerts are acknowledged or resolved."
        data={repeatChoices(fields.repeatS)}
        value={fields.repeatS}
        onChange={({ currentTarget }) => set({ repeatS: currentTarget.value })}
      />
      <Checkbox
        label="Also say when the alerts are resolved"
        checked={fields.sendsResolved}
        onChange={({ currentTarget }) => set({ sendsResolved: currentTarget.checked })}
      />
      <QuietHoursFields value={quietHours} onChange={(hours) => set({ quietHours: hours })} />
    </Form>
  );
}

/** The usual pauses, and the one that is set. */
function repeatChoices(current: string) {
  const seconds = new Set(current === "" ? REPEATS : [...REPEATS, Number(current)]);
  return [
    { value: "", label: "never" },
    ...[...seconds].toSorted((a, b) => a - b).map((s) => ({ value: String(s), label: `every ${formatDuration(s)}` })),
  ];
}

interface ChecksProps<T extends string> {
  readonly label: string;
  readonly options: readonly { readonly value: T; readonly label: string }[];
  readonly value: readonly T[];
  readonly onChange: (value: readonly T[]) => void;
}

function Checks<T extends string>({ label, options, value, onChange }: ChecksProps<T>): ReactNode {
  return (
    <Checkbox.Group
      label={label}
      value={[...value]}
      onChange={(chosen) => onChange(options.map((option) => option.value).filter((each) => chosen.includes(each)))}
    >
      <Group gap="sm" mt={4}>
        {options.map((option) => (
          <Checkbox key={option.value} value={option.value} label={option.label} />
        ))}
      </Group>
    </Checkbox.Group>
  );
}

/** The night in the time zone of the browser. */
function nightHere(): QuietHours {
  const time_zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return { from: "20:00", to: "07:00", time_zone, except_critical: true };
}

interface QuietProps {
  readonly value: QuietHours | null;
  readonly onChange: (value: QuietHours | null) => void;
}

function QuietHoursFields({ value, onChange }: QuietProps): ReactNode {
  return (
    <div>
      <Checkbox
        label="Quiet hours: messages wait for their end"
        checked={value !== null}
        onChange={({ currentTarget }) => onChange(currentTarget.checked ? nightHere() : null)}
      />
      {value && (
        <>
          <div className={classes.hours}>
            <TextInput
              type="time"
              label="From"
              value={value.from}
              onChange={({ currentTarget }) => onChange({ ...value, from: currentTarget.value })}
            />
            <TextInput
              type="time"
              label="To"
              value={value.to}
              onChange={({ currentTarget }) => onChange({ ...value, to: currentTarget.value })}
            />
            <TextInput
              label="Time zone"
              list="time-zones"
              value={value.time_zone}
              spellCheck={false}
              autoComplete="off"
              onChange={({ currentTarget }) => onChange({ ...value, time_zone: currentTarget.value })}
            />
          </div>
          <datalist id="time-zones">
            {Intl.supportedValuesOf("timeZone").map((zone) => (
              <option key={zone} value={zone}>
                {zone}
              </option>
            ))}
          </datalist>
          <Checkbox
            mt="xs"
            label="What is critical does not wait"
            checked={value.except_critical}
            onChange={({ currentTarget }) => onChange({ ...value, except_critical: currentTarget.checked })}
          />
          <Text size="xs" c="dimmed">
            A message is left out if all of its alerts are resolved by then.
          </Text>
        </>
      )}
    </div>
  );
}
