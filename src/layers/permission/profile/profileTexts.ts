// Reads texts of profiles: shared by both backends of Profiles.
import { Effect } from "effect"
import type { Profile, ProfileText } from "../../../services/permission/profile/Profile.ts"
import { parseProfileFile, type WrittenProfile } from "../../../services/permission/profile/profileFile.ts"
import { ProfilesInvalid } from "../../../services/permission/profile/Profiles.ts"
import { RuleIndex } from "../../../services/permission/rule/RuleIndex.ts"
import type { RuleContext } from "../../../services/permission/rule/ruleSubject.ts"
import type { ProjectTrust } from "../../../services/trust/ProjectTrust.ts"
import { type ControlInvalid, sentenceOf } from "../../../services/workspace/controlYaml.ts"
import { makeLastTexts, readProjectTexts } from "../../workspace/controlPair.ts"

export const userProfilesPath = "config/profiles.yaml"
export const projectProfilesPath = `.ai/${userProfilesPath}`
export const userProfilesFile = `user:${userProfilesPath}`
export const projectProfilesFile = `project:${userProfilesPath}`

/** The profiles of one text, by name. */
export type ProfileTexts = ReadonlyMap<string, ProfileText>

/** The text of a file that nobody accepted is not quoted. */
const invalid = (file: string, narrows: boolean, { issues: [issue] }: ControlInvalid) =>
  new ProfilesInvalid({
    file,
    line: issue.line,
    column: issue.column,
    issue: narrows ? "it does not have the form of profiles, and nobody has accepted it as it is" : sentenceOf(issue)
  })

const textOf = (file: string, narrows: boolean, { entry, line, rules }: WrittenProfile): ProfileText => {
  const held = narrows ? rules.filter(({ rule }) => rule.outcome !== "allow") : rules
  return {
    file,
    line,
    entry,
    rules: {
      file,
      rules: new RuleIndex(held.map((one) => ({ ...one, file }))),
      narrows,
      ignored: rules.length - held.length,
      unusable: undefined
    }
  }
}

export const makeReadTexts = (context: RuleContext) => {
  const once = makeLastTexts<ProfileTexts>()
  /** `narrows`: what it allows does not count. */
  return (slot: string, bytes: Uint8Array, file: string, narrows: boolean) =>
    once(
      slot,
      bytes,
      Effect.mapBoth(parseProfileFile(bytes, context), {
        onFailure: (error) => invalid(file, narrows, error),
        onSuccess: (written) => new Map(Array.from(written, ([name, one]) => [name, textOf(file, narrows, one)]))
      })
    )
}

export const readProjectProfiles = (trust: ProjectTrust["Service"], read: ReturnType<typeof makeReadTexts>) =>
  readProjectTexts(
    trust,
    projectProfilesPath,
    (slot, bytes, narrows) => read(slot, bytes, projectProfilesFile, narrows)
  ).pipe(
    Effect.catchTag(
      "ProjectRestricted",
      ({ reason: issue }) => Effect.fail(new ProfilesInvalid({ file: projectProfilesFile, line: 1, column: 1, issue }))
    )
  )

/** The profiles of all texts, by name. */
export const profilesOf = (files: ReadonlyArray<ProfileTexts>): ReadonlyMap<string, Profile> => {
  const names = new Set(files.flatMap((texts) => [...texts.keys()]))
  return new Map(Array.from(names, (name) => [name, { name, texts: files.flatMap((texts) => texts.get(name) ?? []) }]))
}
