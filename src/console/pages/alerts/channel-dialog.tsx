import { Button, Checkbox, Group, NativeSelect, Text, Textarea, TextInput } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { CopyOnce } from "../../parts/copy-once.tsx";
import { Form } from "../../parts/form.tsx";
import { Note } from "../../parts/note.tsx";
import { type ChannelFields, channelOf, newSecret, wordsOf } from "./channel-fields.ts";
import { CHANNEL_KINDS, type ChannelKind } from "./channel-fields.ts";
import { type ReadSettings, useChangeSettings } from "./settings-data.ts";

const KINDS = Object.entries(CHANNEL_KINDS).map(([value, { label }]) => ({ value, label }));

interface Props {
  readonly read: ReadSettings;
  /** Name of the channel that is changed; `undefined` for a new one. */
  readonly name: string | undefined;
  readonly onClose: () => void;
}

/** Adds a channel or changes one. What is secret is never shown: an empty field leaves it as it is. */
export function ChannelDialog({ read, name, onClose }: Props): ReactNode {
  const [secret, setSecret] = useState<string>();
  const label = name === undefined ? "Add a channel" : `Change the channel ${name}`;
  return (
    <Dialog isOpen onClose={onClose} label={label} canDismiss={secret === undefined}>
      {secret === undefined ? (
        <ChannelForm read={read} name={name} onSaved={(made) => (made === undefined ? onClose() : setSecret(made))} />
      ) : (
        <>
          <CopyOnce
            label="Secret of the webhook"
            value={secret}
            note="The receiver verifies signatures with it. It is shown only now: store it before you go on."
          />
          <Group justify="end" mt="md">
            <Button onClick={onClose}>Done</Button>
          </Group>
        </>
      )}
    </Dialog>
  );
}

interface FormProps {
  readonly read: ReadSettings;
  readonly name: string | undefined;
  /** With the secret that the service has made, if it has. */
  readonly onSaved: (secret: string | undefined) => void;
}

function ChannelForm({ read, name: given, onSaved }: FormProps): ReactNode {
  const before = given === undefined ? undefined : read.settings.channels[given];
  const [fields, setFields] = useState<ChannelFields>({
    name: given ?? "",
    kind: before?.kind ?? "email",
    url: "",
    to: (before?.to ?? []).join("\n"),
    secrets: "",
    key: "",
    removesToken: false,
  });
  const set = (change: Partial<ChannelFields>): void => setFields({ ...fields, ...change });
  const save = useChangeSettings(read);
  const { kind } = fields;
  const name = fields.name.trim();
  const isTaken = given === undefined && Object.hasOwn(read.settings.channels, name);
  const asBefore = before?.kind === kind;
  const stays = asBefore ? "Empty: as it is." : undefined;
  return (
    <Form
      action={given === undefined ? "Add" : "Save"}
      isPending={save.isPending}
      error={save.error}
      canSubmit={name !== "" && !isTaken}
      onSubmit={() =>
        save.mutate((now) => ({ ...now, channels: { ...now.channels, [name]: channelOf(fields) } }), {
          onSuccess: ({ new_secrets: made }) => onSaved(made[name]),
        })
      }
    >
      {given === undefined && (
        <TextInput
          label="Name"
          description="Lower-case letters, digits and hyphens, such as ops."
          error={isTaken && "There is a channel with this name."}
          value={fields.name}
          spellCheck={false}
          autoComplete="off"
          onChange={({ currentTarget }) => set({ name: currentTarget.value })}
        />
      )}
      <NativeSelect
        label="Kind"
        description={CHANNEL_KINDS[kind].hint}
        inputWrapperOrder={["label", "input", "description", "error"]}
        data={KINDS}
        value={kind}
        onChange={({ currentTarget }) => set({ kind: currentTarget.value as ChannelKind })}
      />
      {kind === "email" ? (
        <Textarea
          label="Addresses"
          description="One on each line."
          autosize
          minRows={2}
          value={fields.to}
          onChange={({ currentTarget }) => set({ to: currentTarget.value })}
        />
      ) : (
        <TextInput
          label="Address"
          description={addressHint(kind, given !== undefined && asBefore, read, given)}
          placeholder="https://"
          spellCheck={false}
          autoComplete="off"
          value={fields.url}
          onChange={({ currentTarget }) => set({ url: currentTarget.value })}
        />
      )}
      {kind === "webhook" && (
        <Secrets value={fields.secrets} isNew={!asBefore} onChange={(secrets) => set({ secrets })} />
      )}
      {(kind === "pagerduty" || kind === "ntfy") && (
        <TextInput
          type="password"
          label={kind === "pagerduty" ? "Integration key" : "Access token"}
          description={stays ?? (kind === "ntfy" ? "Only if the topic needs one." : undefined)}
          autoComplete="off"
          value={fields.key}
          onChange={({ currentTarget }) => set({ key: currentTarget.value })}
        />
      )}
      {kind === "ntfy" && asBefore && fields.key === "" && (
        <Checkbox
          label="Remove the access token"
          checked={fields.removesToken}
          onChange={({ currentTarget }) => set({ removesToken: currentTarget.checked })}
        />
      )}
      {asBefore && fields.url !== "" && (kind === "pagerduty" || kind === "ntfy") && (
        <Note kind="info" title="Another address needs its key again." isAnnounced={false}>
          A key is never sent to another address than the one that it was given for.
        </Note>
      )}
    </Form>
  );
}

function addressHint(kind: ChannelKind, isKept: boolean, { settings }: ReadSettings, name = ""): string | undefined {
  if (isKept) return `Empty: as it is, at ${settings.channel_states[name]?.address ?? "its host"}.`;
  return kind === "pagerduty" ? "Empty: that of PagerDuty." : undefined;
}

interface SecretsProps {
  readonly value: string;
  readonly isNew: boolean;
  readonly onChange: (value: string) => void;
}

/** Secrets of a webhook. All of them sign, so that a new one can be introduced before the old one goes. */
function Secrets({ value, isNew, onChange }: SecretsProps): ReactNode {
  return (
    <div>
      <Textarea
        label="Secrets"
        description={
          isNew
            ? "Empty: one is made, and shown once. Or up to three of yours, one on each line; each signs."
            : "Empty: as they are. To rotate: a new one and the old one, one on each line, until the receiver knows the new one; then the new one alone."
        }
        autosize
        minRows={2}
        spellCheck={false}
        autoComplete="off"
        styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
        value={value}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      />
      <Group gap="xs" mt={4}>
        <Button
          size="compact-xs"
          variant="default"
          onClick={() => onChange([newSecret(), ...wordsOf(value)].join("\n"))}
        >
          Make a new secret
        </Button>
        {value !== "" && <Text size="xs">Copy what you need of it: it is not shown again.</Text>}
      </Group>
    </div>
  );
}
