import {
  ActionIcon,
  Button,
  Checkbox,
  Fieldset,
  Group,
  NativeSelect,
  Stack,
  Text,
  Textarea,
  TextInput,
} from "@mantine/core";
import { type ReactNode, useRef } from "react";
import { Icon } from "../../parts/icon.tsx";
import classes from "./deploy.module.css";
import type { AppForm, FormIssue, PortRow, VariableRow, VolumeRow } from "./deploy-form.ts";

interface Props {
  readonly form: AppForm;
  readonly onChange: (form: AppForm) => void;
  readonly issues: readonly FormIssue[];
  /** Of an installed app: its name cannot change. */
  readonly isUpdate: boolean;
  /** In place of the variables while their values are only on the device. */
  readonly variables?: ReactNode;
}

/** The fields of an app. */
export function AppFields({ form, onChange, issues, isUpdate, variables }: Props): ReactNode {
  const set = (change: Partial<AppForm>): void => onChange({ ...form, ...change });
  const issue = (path: string): string | undefined => issues.find((each) => each.path === path)?.reason;
  return (
    <Stack gap="md">
      {!isUpdate && (
        <TextInput
          label="Name"
          description="Also the name of its container."
          value={form.name}
          error={issue("name")}
          onChange={({ currentTarget }) => set({ name: currentTarget.value })}
          {...PLAIN}
        />
      )}
      <TextInput
        label="Image"
        description="Such as registry.example.com/team/app:1.2"
        value={form.image}
        error={issue("image")}
        onChange={({ currentTarget }) => set({ image: currentTarget.value })}
        {...PLAIN}
      />
      <Ports form={form} set={set} issue={issue} />
      {variables ?? <Variables form={form} set={set} issue={issue} />}
      <Volumes form={form} set={set} issue={issue} />
      <details className={classes.more}>
        <summary>More settings</summary>
        <More form={form} set={set} issue={issue} />
      </details>
    </Stack>
  );
}

const PLAIN = { spellCheck: false, autoComplete: "off", autoCapitalize: "none" } as const;

interface PartProps {
  readonly form: AppForm;
  readonly set: (change: Partial<AppForm>) => void;
  readonly issue: (path: string) => string | undefined;
}

function Ports({ form, set, issue }: PartProps): ReactNode {
  const rows = useRows<PortRow>(form.ports, (ports) => set({ ports }));
  return (
    <Fieldset legend="Ports">
      <Text size="sm" c="dimmed" mb="xs">
        On the device 30000 to 32767.
      </Text>
      {form.ports.map((row, index) => (
        <Group key={row.id} gap="xs" align="start" mb="xs" className={classes.row ?? ""}>
          <TextInput
            label="On the device"
            inputMode="numeric"
            value={row.host}
            error={issue(`ports.${index}.host_port`)}
            onChange={({ currentTarget }) => rows.change(row.id, { host: currentTarget.value })}
            {...PLAIN}
          />
          <TextInput
            label="In the app"
            inputMode="numeric"
            value={row.target}
            error={issue(`ports.${index}.target_port`)}
            onChange={({ currentTarget }) => rows.change(row.id, { target: currentTarget.value })}
            {...PLAIN}
          />
          <NativeSelect
            label="Protocol"
            data={["tcp", "udp"]}
            value={row.protocol}
            onChange={({ currentTarget }) => rows.change(row.id, { protocol: currentTarget.value as "tcp" | "udp" })}
          />
          <Remove label={`Remove port ${index + 1}`} onClick={() => rows.remove(row.id)} />
        </Group>
      ))}
      <Add onClick={() => rows.add({ host: "", target: "", protocol: "tcp" })}>Add a port</Add>
    </Fieldset>
  );
}

function Variables({ form, set, issue }: PartProps): ReactNode {
  const rows = useRows<VariableRow>(form.variables, (variables) => set({ variables }));
  return (
    <Fieldset legend="Environment variables">
      {form.variables.map((row, index) => (
        <Group key={row.id} gap="xs" align="start" mb="xs" className={classes.row ?? ""}>
          <TextInput
            label="Name"
            value={row.key}
            error={issue(`environments.${index}.key`)}
            onChange={({ currentTarget }) => rows.change(row.id, { key: currentTarget.value })}
            {...PLAIN}
          />
          <TextInput
            label="Value"
            type={row.isSecret ? "password" : "text"}
            placeholder={row.isSecret && row.isKept ? "stays as it is" : ""}
            value={row.value}
            error={issue(`environments.${index}.value`)}
            onChange={({ currentTarget }) => rows.change(row.id, { value: currentTarget.value })}
            {...PLAIN}
            autoComplete={row.isSecret ? "new-password" : "off"}
          />
          <Checkbox
            label="Secret"
            className={classes.check ?? ""}
            checked={row.isSecret}
            onChange={({ currentTarget }) => rows.change(row.id, { isSecret: currentTarget.checked })}
          />
          <Remove label={`Remove variable ${row.key || index + 1}`} onClick={() => rows.remove(row.id)} />
        </Group>
      ))}
      <Add onClick={() => rows.add({ key: "", value: "", isSecret: false, isKept: false })}>Add a variable</Add>
    </Fieldset>
  );
}

function Volumes({ form, set, issue }: PartProps): ReactNode {
  const rows = useRows<VolumeRow>(form.volumes, (volumes) => set({ volumes }));
  return (
    <Fieldset legend="Volumes">
      {form.volumes.map((row, index) => (
        <Group key={row.id} gap="xs" align="start" mb="xs" className={classes.row ?? ""}>
          <TextInput
            label="Path of the device, or name of a volume"
            value={row.source}
            error={issue(`volumes.${index}.local`) ?? issue(`volumes.${index}.name`)}
            onChange={({ currentTarget }) => rows.change(row.id, { source: currentTarget.value })}
            {...PLAIN}
          />
          <TextInput
            label="Path in the app"
            value={row.target}
            error={issue(`volumes.${index}.target`)}
            onChange={({ currentTarget }) => rows.change(row.id, { target: currentTarget.value })}
            {...PLAIN}
          />
          <Checkbox
            label="Read-only"
            className={classes.check ?? ""}
            checked={row.isReadonly}
            onChange={({ currentTarget }) => rows.change(row.id, { isReadonly: currentTarget.checked })}
          />
          <Remove label={`Remove volume ${index + 1}`} onClick={() => rows.remove(row.id)} />
        </Group>
      ))}
      <Add onClick={() => rows.add({ source: "", target: "", isReadonly: false })}>Add a volume</Add>
    </Fieldset>
  );
}

function More({ form, set, issue }: PartProps): ReactNode {
  return (
    <Stack gap="md" mt="sm">
      <Textarea
        label="Command"
        description="In place of the image's own: one argument on each line."
        autosize
        minRows={2}
        value={form.command}
        error={issue("command")}
        onChange={({ currentTarget }) => set({ command: currentTarget.value })}
        {...PLAIN}
      />
      <Group gap="xs" align="start">
        <TextInput
          label="Memory limit in MB"
          inputMode="decimal"
          value={form.memoryMb}
          error={issue("memory_limit")}
          onChange={({ currentTarget }) => set({ memoryMb: currentTarget.value })}
          {...PLAIN}
        />
        <TextInput
          label="Processors"
          inputMode="decimal"
          placeholder="0.5"
          value={form.cpus}
          error={issue("cpu_limit")}
          onChange={({ currentTarget }) => set({ cpus: currentTarget.value })}
          {...PLAIN}
        />
        <NativeSelect
          label="Restart policy"
          value={form.restartPolicy}
          data={[
            { value: "", label: "As usual (unless-stopped)" },
            { value: "unless-stopped", label: "unless-stopped" },
            { value: "always", label: "always" },
            { value: "on-failure", label: "on-failure" },
            { value: "no", label: "no" },
          ]}
          onChange={({ currentTarget }) => set({ restartPolicy: currentTarget.value })}
        />
      </Group>
      <Checkbox
        label="Use the device's network; ports have no effect then"
        checked={form.hostNetwork}
        onChange={({ currentTarget }) => set({ hostNetwork: currentTarget.checked })}
      />
      <Checkbox
        label="All rights on the device (privileged)"
        checked={form.privileged}
        onChange={({ currentTarget }) => set({ privileged: currentTarget.checked })}
      />
      <Textarea
        label="Other fields, as JSON"
        description={'Every other field of the API, such as {"init": true}'}
        autosize
        minRows={2}
        maxRows={16}
        value={form.others}
        error={issue("others")}
        onChange={({ currentTarget }) => set({ others: currentTarget.value })}
        {...PLAIN}
      />
    </Stack>
  );
}

function Remove({ label, onClick }: { readonly label: string; readonly onClick: () => void }): ReactNode {
  return (
    <ActionIcon variant="subtle" color="gray" size="lg" aria-label={label} className={classes.check} onClick={onClick}>
      <Icon name="cross" />
    </ActionIcon>
  );
}

function Add({ children, onClick }: { readonly children: ReactNode; readonly onClick: () => void }): ReactNode {
  return (
    <Button size="xs" variant="default" onClick={onClick}>
      {children}
    </Button>
  );
}

interface Rows<T> {
  readonly add: (row: Omit<T, "id">) => void;
  readonly change: (id: number, change: Partial<T>) => void;
  readonly remove: (id: number) => void;
}

/** Changes of a list whose rows keep their identity while others come and go. */
function useRows<T extends { readonly id: number }>(
  rows: readonly T[],
  onChange: (rows: readonly T[]) => void,
): Rows<T> {
  // Rows of an installed app are numbered from 1.
  const nextId = useRef(1_000_000);
  return {
    add: (row) => onChange([...rows, { ...row, id: nextId.current++ } as T]),
    change: (id, change) => onChange(rows.map((row) => (row.id === id ? { ...row, ...change } : row))),
    remove: (id) => onChange(rows.filter((row) => row.id !== id)),
  };
}
