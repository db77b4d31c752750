//! The names MJCF knows and the form of the values we read.
//!
//! One row per element: its path, then its attributes. An attribute is `name`, `name:FORM` or `name!:FORM`
//! (required); a form is a count of numbers (`3`, `1-3`, `*`), with `+` if none may be negative and `>` if all
//! must be positive, `int`, or words separated by `|`. An attribute without a form is text.
//!
//! A path that ends in `...` is an element we do not look into: nothing below it can change the motion, or it is
//! listed as a whole. Attributes that only newer or older releases have are included where they do no harm.

use std::collections::HashMap;
use std::sync::OnceLock;

/// Form of an attribute's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Any text.
    Text,
    /// Between so many and so many numbers.
    Numbers { least: usize, most: usize, sign: Sign },
    /// One whole number.
    Integer,
    /// One of these words.
    Word(Vec<&'static str>),
}

/// Which numbers are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Any,
    NotNegative,
    Positive,
}

/// What is known of one attribute.
#[derive(Clone, Debug)]
pub(super) struct AttributeRule {
    pub(super) name: &'static str,
    pub(super) required: bool,
    pub(super) form: Form,
}

/// What is known of one element.
#[derive(Clone, Debug, Default)]
pub(super) struct Rule {
    pub(super) attributes: Vec<AttributeRule>,
    pub(super) children: Vec<(&'static str, usize)>,
    /// Nothing below is checked.
    pub(super) unchecked: bool,
}

const FRAME: &str = "pos:3 quat:4 axisangle:4 xyaxes:6 zaxis:3 euler:3";
const LIMITED: &str = "true|false|auto";
const BOOLEAN: &str = "true|false";

const JOINT: &str = "class group:int type:free|ball|slide|hinge pos:3 axis:3 springdamper:2+ limited:LIMITED \
    actuatorfrclimited:LIMITED solreflimit:* solimplimit:* solreffriction:* solimpfriction:* stiffness:1-3 \
    range:2 actuatorfrcrange:2 actuatorgravcomp:BOOLEAN margin:1 ref:1 springref:1 springyield:1+ armature:1+ \
    damping:1-3 frictionloss:1+ user:*";

const GEOM: &str = "class type:plane|hfield|sphere|capsule|ellipsoid|cylinder|box|mesh|sdf contype:int \
    conaffinity:int condim:int group:int priority:int size:1-3 material friction:1-3 mass:1+ density:1+ \
    shellinertia:BOOLEAN solmix:1 solref:* solimp:* margin:1 gap:1 fromto:6 hfield mesh fitscale:1 rgba:4 \
    fluidshape:none|ellipsoid fluidcoef:* user:* adhesion:* surfacevel:* castshadow:BOOLEAN FRAME";

const SITE: &str = "class type group:int material mesh rgba:4 size:1-3 fromto:6 user:* FRAME";

const ACTUATOR: &str = "class group:int ctrllimited:LIMITED forcelimited:LIMITED actlimited:LIMITED ctrlrange:2 \
    forcerange:2 actrange:2 lengthrange:2 gear:1-6 damping:1-3 armature:1+ cranklength:1+ joint jointinparent \
    tendon site refsite body cranksite slidersite user:* nsample:int interp delay:1+ actdim:int actearly:BOOLEAN";

const GENERAL: &str = "dyntype:none|integrator|filter|filterexact|pid|dcmotor|muscle|user \
    gaintype:fixed|affine|muscle|dcmotor|pid|so3|user biastype:none|affine|muscle|dcmotor|so3|user dynprm:* \
    gainprm:* biasprm:* inheritrange:1 ffrange:* velrange:* input";

const EQUALITY: &str = "class active:BOOLEAN solref:* solimp:*";

const FLAGS: &str = "actuation autoreset clampctrl constraint contact damper diagexact energy equality eulerdamp \
    filterparent frictionloss fwdinv gravity invdiscrete ipc island limit midphase multiccd nativeccd override \
    passive refsafe sensor sensornoise sleep speculative spring warmstart";

const ROWS: &[(&str, &str)] = &[
    ("mujoco", "model"),
    (
        "mujoco/compiler",
        "autolimits:BOOLEAN boundmass:1+ boundinertia:1+ settotalmass:1 balanceinertia:BOOLEAN strippath:BOOLEAN \
         coordinate:local|global angle:radian|degree fitaabb:BOOLEAN eulerseq meshdir texturedir assetdir \
         discardvisual:BOOLEAN usethread:BOOLEAN fusestatic:BOOLEAN inertiafromgeom:false|true|auto \
         inertiagrouprange:2 alignfree:BOOLEAN saveinertial:BOOLEAN conflict passthrough savecanonical \
         savecompiled convexhull exactmeshinertia",
    ),
    ("mujoco/compiler/lengthrange...", ""),
    (
        "mujoco/option",
        "timestep:1> gravity:3 wind:3 magnetic:3 density:1+ viscosity:1+ integrator apirate impratio o_margin \
         o_solref o_solimp o_friction cone jacobian solver iterations tolerance ls_iterations ls_tolerance \
         noslip_iterations noslip_tolerance ccd_iterations ccd_tolerance mpr_iterations mpr_tolerance collision \
         sdf_iterations sdf_initpoints sleep_tolerance actuatorgroupdisable",
    ),
    ("mujoco/option/flag", "FLAGS"),
    ("mujoco/size...", ""),
    ("mujoco/statistic...", ""),
    ("mujoco/visual...", ""),
    ("mujoco/custom...", ""),
    ("mujoco/extension...", ""),
    ("mujoco/sensor...", ""),
    ("mujoco/contact...", ""),
    ("mujoco/tendon...", ""),
    ("mujoco/deformable...", ""),
    ("mujoco/default", "class"),
    ("mujoco/default/joint", "JOINT"),
    ("mujoco/default/geom", "GEOM"),
    ("mujoco/default/site", "SITE"),
    ("mujoco/default/mesh...", ""),
    ("mujoco/default/material", "MATERIAL"),
    ("mujoco/default/texture...", ""),
    ("mujoco/default/camera...", ""),
    ("mujoco/default/light...", ""),
    ("mujoco/default/pair...", ""),
    ("mujoco/default/tendon...", ""),
    ("mujoco/default/equality", "EQUALITY"),
    ("mujoco/default/general", "ACTUATOR GENERAL"),
    ("mujoco/default/motor", "ACTUATOR"),
    ("mujoco/default/position", "ACTUATOR kp kv dampratio timeconst inheritrange"),
    ("mujoco/default/velocity", "ACTUATOR kv"),
    ("mujoco/default/intvelocity", "ACTUATOR kp kv dampratio inheritrange"),
    ("mujoco/default/damper", "ACTUATOR kv"),
    ("mujoco/default/cylinder", "ACTUATOR timeconst area diameter bias"),
    ("mujoco/default/muscle", "ACTUATOR timeconst tausmooth range force scale lmin lmax vmax fpmax fvmax"),
    ("mujoco/default/adhesion", "ACTUATOR gain"),
    ("mujoco/default/pid...", ""),
    ("mujoco/default/orientation...", ""),
    ("mujoco/default/dcmotor...", ""),
    ("mujoco/asset", ""),
    ("mujoco/asset/mesh...", ""),
    ("mujoco/asset/material", "name MATERIAL"),
    ("mujoco/asset/material/layer...", ""),
    ("mujoco/asset/texture...", ""),
    ("mujoco/asset/hfield...", ""),
    ("mujoco/asset/skin...", ""),
    ("mujoco/asset/model...", ""),
    ("mujoco/worldbody", ""),
    ("body", "name childclass mocap:BOOLEAN gravcomp:1 sleep simple:auto|false fuse:auto|false user:* FRAME"),
    ("frame", "name childclass FRAME scale:1-3> massscale:1+ scaling:similar|geometry"),
    ("replicate", "count!:int sep offset:3 euler:3"),
    (
        "body/inertial",
        "mass!:1+ diaginertia:3+ fullinertia:6 pos!:3 quat:4 axisangle:4 xyaxes:6 zaxis:3 euler:3",
    ),
    ("body/joint", "name JOINT"),
    ("body/freejoint", "name group:int align:LIMITED"),
    ("body/geom", "name GEOM"),
    ("body/geom/plugin...", ""),
    ("body/site", "name SITE"),
    ("body/camera...", ""),
    ("body/light...", ""),
    ("body/plugin...", ""),
    ("body/attach...", ""),
    ("body/composite...", ""),
    ("body/flexcomp...", ""),
    ("mujoco/equality", ""),
    ("mujoco/equality/connect", "name EQUALITY body1 body2 anchor:3 site1 site2"),
    ("mujoco/equality/weld", "name EQUALITY body1 body2 anchor:3 site1 site2 relpose:7 torquescale:1+"),
    ("mujoco/equality/joint", "name EQUALITY joint1! joint2 polycoef:1-5"),
    ("mujoco/equality/tendon...", ""),
    ("mujoco/equality/flex...", ""),
    ("mujoco/equality/flexvert...", ""),
    ("mujoco/equality/flexstrain...", ""),
    ("mujoco/actuator", ""),
    ("mujoco/actuator/motor", "name ACTUATOR"),
    ("mujoco/actuator/general", "name ACTUATOR GENERAL"),
    ("mujoco/actuator/position", "name ACTUATOR kp:1 kv:1 dampratio:1 timeconst:1 inheritrange:1"),
    ("mujoco/actuator/velocity", "name ACTUATOR kv:1"),
    ("mujoco/actuator/intvelocity", "name ACTUATOR kp:1 kv:1 dampratio:1 inheritrange:1"),
    ("mujoco/actuator/damper", "name ACTUATOR kv:1"),
    ("mujoco/actuator/cylinder", "name ACTUATOR timeconst:1 area:1 diameter:1 bias:*"),
    (
        "mujoco/actuator/muscle",
        "name ACTUATOR timeconst:* tausmooth:1 range:2 force:1 scale:1 lmin:1 lmax:1 vmax:1 fpmax:1 fvmax:1",
    ),
    ("mujoco/actuator/adhesion", "name ACTUATOR gain:1"),
    ("mujoco/actuator/pid...", ""),
    ("mujoco/actuator/orientation...", ""),
    ("mujoco/actuator/dcmotor...", ""),
    ("mujoco/actuator/plugin...", ""),
    ("mujoco/keyframe", ""),
    ("mujoco/keyframe/key", "name time:1 qpos:* qvel:* act:* ctrl:* mpos:* mquat:* plastic:*"),
];

const MATERIAL: &str = "class rgba:4 texture texrepeat texuniform emission specular shininess reflectance metallic \
    roughness";

/// Groups of attributes that several rows share.
const GROUPS: &[(&str, &str)] = &[
    ("JOINT", JOINT),
    ("GEOM", GEOM),
    ("SITE", SITE),
    ("ACTUATOR", ACTUATOR),
    ("GENERAL", GENERAL),
    ("EQUALITY", EQUALITY),
    ("FRAME", FRAME),
    ("FLAGS", FLAGS),
    ("MATERIAL", MATERIAL),
];

/// All rules; 0 is `mujoco`.
pub(super) fn rules() -> &'static [Rule] {
    static RULES: OnceLock<Vec<Rule>> = OnceLock::new();
    RULES.get_or_init(build)
}

fn build() -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    let mut index: HashMap<&str, usize> = HashMap::new();
    for (path, attributes) in ROWS {
        let bare = path.trim_end_matches("...");
        let id = rules.len();
        let mut rule = Rule { unchecked: bare != *path, ..Rule::default() };
        add_attributes(attributes, &mut rule.attributes);
        rules.push(rule);
        index.insert(bare, id);
        if let Some((parent, tag)) = bare.rsplit_once('/') {
            let parent = index[parent];
            rules[parent].children.push((tag, id));
        }
    }
    let [body, frame, world, default, replicate] =
        ["body", "frame", "mujoco/worldbody", "mujoco/default", "replicate"].map(|path| index[path]);
    rules[body].children.extend([("body", body), ("frame", frame), ("replicate", replicate)]);
    rules[replicate].children = rules[body].children.clone();
    rules[frame].children = rules[body].children.clone();
    rules[world].children = rules[body].children.clone();
    rules[default].children.push(("default", default));
    let flag = index["mujoco/option/flag"];
    for attribute in &mut rules[flag].attributes {
        attribute.form = Form::Word(vec!["enable", "disable"]);
    }
    rules
}

fn add_attributes(text: &'static str, to: &mut Vec<AttributeRule>) {
    for word in text.split_whitespace() {
        if let Some((_, group)) = GROUPS.iter().find(|(name, _)| *name == word) {
            add_attributes(group, to);
            continue;
        }
        let (name, form) =
            word.split_once(':').map_or((word, Form::Text), |(name, form)| (name, form_of(form)));
        let required = name.ends_with('!');
        to.push(AttributeRule { name: name.trim_end_matches('!'), required, form });
    }
}

fn form_of(text: &'static str) -> Form {
    match text {
        "int" => return Form::Integer,
        "LIMITED" => return Form::Word(LIMITED.split('|').collect()),
        "BOOLEAN" => return Form::Word(BOOLEAN.split('|').collect()),
        _ if text.contains('|') => return Form::Word(text.split('|').collect()),
        _ => {}
    }
    let sign = match text.as_bytes().last() {
        Some(b'+') => Sign::NotNegative,
        Some(b'>') => Sign::Positive,
        _ => Sign::Any,
    };
    let count = text.trim_end_matches(['+', '>']);
    let (least, most) = match count.split_once('-') {
        _ if count == "*" => ("0", "1000000"),
        Some(range) => range,
        None => (count, count),
    };
    let number = |n: &str| n.parse().unwrap_or(0);
    Form::Numbers { least: number(least), most: number(most), sign }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_the_table_is_understood() {
        for rule in rules() {
            for attribute in &rule.attributes {
                if let Form::Numbers { least, most, .. } = attribute.form {
                    assert!(most >= 1 && most >= least, "{}", attribute.name);
                }
                let clean =
                    attribute.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
                assert!(clean, "{}", attribute.name);
            }
        }
    }

    #[test]
    fn bodies_and_frames_nest() {
        let rules = rules();
        let child = |rule: usize, tag: &str| rules[rule].children.iter().find(|(t, _)| *t == tag).unwrap().1;
        let body = child(child(0, "worldbody"), "body");
        assert_eq!(child(body, "body"), body);
        assert_eq!(child(child(body, "frame"), "body"), body);
        assert!(rules[child(body, "camera")].unchecked);
    }
}
