import { Box, Button, Checkbox, Group, Stack, Text, TextInput, Title } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { usePermission } from "../../api/session.ts";
import type { Asset, EnrolmentSettings } from "../../../protocol/api-types.ts";
import { Form } from "../../parts/form.tsx";
import { Loaded, Loading } from "../../parts/loaded.tsx";
import { useSearchParams } from "react-router";
import { toFailure } from "../../api/failure.ts";
import { Note } from "../../parts/note.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { EnrolDevice } from "./enrol-device.tsx";
import { FailureNote } from "../../parts/failure-note.tsx";

/** Whether new devices are accepted by themselves, for the whole account. Shown to those who may change it. */
export function AcceptanceSettings(): ReactNode {
  const mayChange = usePermission("settings.manage");
  const settings = useQuery({
    queryKey: KEYS.enrolmentSettings,
    queryFn: ({ signal }) => call("GET /v1/enrolment-settings", { signal }),
    enabled: mayChange,
  });
  if (!mayChange) return null;
  return (
    <Box component="section" aria-labelledby="acceptance" mt="xl">
      <Title order={2} id="acceptance" mb="xs">
        Acceptance of devices
      </Title>
      <Loaded query={settings}>{(data) => <Change key={String(data.auto_accept)} {...data} />}</Loaded>
    </Box>
  );
}

function Change({ auto_accept: before }: EnrolmentSettings): ReactNode {
  const [isAutomatic, setAutomatic] = useState(before);
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: () => call("PATCH /v1/enrolment-settings", { body: { auto_accept: isAutomatic } }),
    onSuccess: (settings) => client.setQueryData(KEYS.enrolmentSettings, settings),
  });
  return (
    <Form
      action="Save"
      isPending={change.isPending}
      error={change.error}
      canSubmit={isAutomatic !== before}
      onSubmit={() => change.mutate()}
    >
      <Text size="sm">
        A device that is new, or takes the place of another one, gets nothing of a fleet's before a person with the role
        operator has accepted it.
      </Text>
      <Checkbox
        label="Accept devices automatically"
        description="All who may register an asset, or have an enrolment code, can then have what fleets deliver to such an asset, with values that are secret. For devices that come into service untouched."
        checked={isAutomatic}
        onChange={({ currentTarget }) => setAutomatic(currentTarget.checked)}
      />
    </Form>
  );
}

const PARAMETER = "serial";

/**
 * Enrols a device, on a phone beside it. The serial number is in the address, so that a reload, or a link that was lost,
 * continues where it was.
 */
export function EnrolPage(): ReactNode {
  const [parameters, setParameters] = useSearchParams();
  const serial = parameters.get(PARAMETER) ?? "";
  return (
    <div style={{ maxWidth: "34rem" }}>
      <PageTitle title="Enrol a device" />
      {serial === "" ? (
        <>
          <AskForSerial onSerial={(next) => setParameters({ [PARAMETER]: next })} />
          <AcceptanceSettings />
        </>
      ) : (
        <FindOrRegister key={serial} serial={serial} onOther={() => setParameters({})} />
      )}
    </div>
  );
}

function AskForSerial({ onSerial }: { readonly onSerial: (serial: string) => void }): ReactNode {
  const [typed, setTyped] = useState("");
  const serial = typed.trim();
  return (
    <Form
      action="Continue"
      isPending={false}
      error={undefined}
      canSubmit={serial !== ""}
      onSubmit={() => onSerial(serial)}
    >
      <TextInput
        label="Serial number"
        description="On the label of the housing. An ICCID of its SIM works too, for a device that is registered."
        size="lg"
        autoComplete="off"
        autoCapitalize="characters"
        spellCheck={false}
        enterKeyHint="go"
        value={typed}
        onChange={({ currentTarget }) => setTyped(currentTarget.value)}
      />
    </Form>
  );
}

interface FoundProps {
  readonly serial: string;
  readonly onOther: () => void;
}

function FindOrRegister({ serial, onOther }: FoundProps): ReactNode {
  const asset = useQuery({
    queryKey: [...KEYS.assets, "by-serial", serial],
    queryFn: async ({ signal }): Promise<Asset | null> => {
      try {
        return await call("GET /v1/assets/{asset_id}", { path: { asset_id: serial }, signal });
      } catch (error) {
        if (toFailure(error).code === "AssetNotFound") return null;
        throw error;
      }
    },
  });
  const other = (
    <Button variant="default" onClick={onOther}>
      Another device
    </Button>
  );
  if (asset.data === undefined) {
    if (asset.error) return <FailureNote failure={toFailure(asset.error)} onRetry={() => void asset.refetch()} />;
    return <Loading />;
  }
  if (asset.data === null) return <Register serial={serial} other={other} />;
  return <EnrolDevice asset={asset.data} other={other} />;
}

function Register({ serial, other }: { readonly serial: string; readonly other: ReactNode }): ReactNode {
  const mayRegister = usePermission("assets.register");
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [type, setType] = useState("");
  const register = useMutation({
    mutationFn: () =>
      call("POST /v1/assets", {
        body: {
          serial_number: serial,
          ...(name.trim() !== "" && { name: name.trim() }),
          ...(type.trim() !== "" && { type: type.trim() }),
        },
      }),
    onSuccess: () => client.invalidateQueries({ queryKey: KEYS.assets }),
  });
  if (!mayRegister)
    return (
      <Stack gap="md">
        <Note kind="warn" title={`There is no asset with the number ${serial}.`}>
          Your role may not register one: ask for the role installer.
        </Note>
        <Group>{other}</Group>
      </Stack>
    );
  return (
    <Stack gap="md">
      <Note kind="info" title={`There is no asset with the number ${serial} yet.`}>
        Compare it with the label. If it is right, register the device.
      </Note>
      <Form
        action="Register"
        isPending={register.isPending}
        error={register.error}
        onSubmit={() => register.mutate()}
        actions={other}
      >
        <TextInput
          label="Name"
          description="Such as where it stands; the serial number if nothing is typed."
          size="md"
          value={name}
          maxLength={128}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <TextInput
          label="Type"
          description="Kind of device; may be empty."
          size="md"
          value={type}
          maxLength={64}
          onChange={({ currentTarget }) => setType(currentTarget.value)}
        />
      </Form>
      <Text size="sm" c="dimmed">
        SIMs are added by those who register assets by the API.
      </Text>
    </Stack>
  );
}
