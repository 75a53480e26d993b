//! Components, each built and reduced on its own, joined into one structure.

use std::collections::BTreeSet;

use experiment::component::{Component as Declared, Components, Joint, JointDirection};
use experiment::reduction::ReductionMethod;
use experiment::{Diagnostic, DofRef, Interface, NodeRef};
use model::equations::RelativeDof;
use model::joined::{Coordinates, JointError, Link, PartForm, Terms, first_order, second_order};
use model::partition::InternalDofs;
use model::reduction::Component;
use model::structure::{DofKind, Structure};
use nalgebra::{DMatrix, DVector};
use numerics::second_order::SecondOrder;
use numerics::sparse::SparseMatrix;

use super::full::{FullModel, SMALL};
use super::structure::{Builder, Origin};

/// Influences of joined DOFs that differ by less are one.
const ALIKE: f64 = 1e-9;

/// A component as it is built, and who asks for which of its DOFs.
pub(super) struct Piece<'a> {
    pub(super) declared: &'a Declared,
    /// Where it stands in the file.
    pub(super) base: String,
    /// DOFs that stay, as it calls them.
    pub(super) ports: Vec<DofRef>,
}

/// A component that is built.
struct Part {
    name: String,
    origin: Origin,
    /// Names and kinds of its coordinates.
    names: Vec<String>,
    kinds: Vec<DofKind>,
    /// How its coordinates follow the ground, where they are DOFs.
    influence: Option<DVector<f64>>,
}

/// Components and what they make together.
pub(super) struct Joined {
    parts: Vec<Part>,
    forms: Vec<PartForm>,
    /// The first coordinate of each.
    starts: Vec<usize>,
    coordinates: Coordinates,
    /// Springs and dampers, each with the components it ends at.
    links: Vec<(Link, Vec<usize>)>,
}

impl Joined {
    /// The coordinate that the file calls so, among those of all components.
    fn coordinate(&self, dof: &DofRef) -> Result<usize, Diagnostic> {
        let local = dof.local().zip(dof.component());
        let part = local.and_then(|(local, name)| {
            let index = self.parts.iter().position(|part| part.name == name)?;
            Some((index, local))
        });
        let Some((index, local)) = part else {
            let error = Diagnostic::error(format!("no component has a DOF \"{dof}\""));
            return Err(error.at(dof.span.clone()).remedy("write \"component.dof\""));
        };
        let found = self.parts[index].origin.resolve(&local);
        let found = found.map_err(|error| {
            let message = format!("component \"{}\": {}", self.parts[index].name, error.message);
            Diagnostic { message, ..error }
        })?;
        Ok(self.starts[index] + found)
    }

    /// The DOF of the whole structure that the file calls so.
    pub(super) fn resolve(&self, dof: &DofRef) -> Result<usize, Diagnostic> {
        let row = self.coordinates.row(self.coordinate(dof)?);
        if let [(place, factor)] = row.as_slice()
            && *factor == 1.0
        {
            return Ok(*place);
        }
        let followed: Vec<String> =
            row.iter().map(|&(place, _)| format!("\"{}\"", self.name(place))).collect();
        let message = format!("\"{dof}\" follows {} by a joint", followed.join(" and "));
        Err(Diagnostic::error(message)
            .at(dof.span.clone())
            .remedy(format!("name {} instead", followed.join(" or "))))
    }

    /// The component of a coordinate, and its place there.
    fn place(&self, coordinate: usize) -> (usize, usize) {
        let part = self.starts.partition_point(|&start| start <= coordinate) - 1;
        (part, coordinate - self.starts[part])
    }

    fn name_of(&self, coordinate: usize) -> String {
        let (part, place) = self.place(coordinate);
        format!("{}.{}", self.parts[part].name, self.parts[part].names[place])
    }

    /// What a DOF of the whole structure is called.
    pub(super) fn name(&self, dof: usize) -> String {
        self.name_of(self.coordinates.independent()[dof])
    }

    /// What it moves along.
    pub(super) fn kind(&self, dof: usize) -> DofKind {
        let (part, place) = self.place(self.coordinates.independent()[dof]);
        self.parts[part].kinds[place]
    }

    /// Whether it is the amplitude of a component's mode.
    pub(super) fn is_amplitude(&self, dof: usize) -> bool {
        let (part, place) = self.place(self.coordinates.independent()[dof]);
        matches!(&self.parts[part].origin, Origin::Reduced(reduced) if place >= reduced.names.len())
    }

    /// Its influence by those of the components, where all of them have one and agree.
    fn influence(&self) -> Option<DVector<f64>> {
        let own = |q: usize| {
            let (part, place) = self.place(q);
            self.parts[part].influence.as_ref().map(|influence| influence[place])
        };
        let left = self.coordinates.independent().iter().map(|&q| own(q));
        let left = DVector::from_vec(left.collect::<Option<Vec<f64>>>()?);
        let count = self.starts.last()? + self.forms.last()?.size();
        let agrees = |q: usize| {
            let row = self.coordinates.row(q);
            let follows: f64 = row.iter().map(|&(place, c)| c * left[place]).sum();
            own(q).is_some_and(|own| (own - follows).abs() <= ALIKE)
        };
        (0..count).all(agrees).then_some(left)
    }

    fn links(&self) -> Vec<Link> {
        self.links.iter().map(|(link, _)| link.clone()).collect()
    }
}

impl<'a> Builder<'a> {
    /// The whole structure as components make it.
    pub(super) fn joined_structure(&mut self, declared: &'a Components) -> Option<Structure> {
        let joined = self.joined(declared)?;
        if joined.forms.iter().all(|form| matches!(form, PartForm::Matrices(..))) {
            let full = self.joined_matrices(joined)?;
            let structure = self.keep(full.dense(), "component")?;
            self.origin = Origin::Mesh(Box::new(full));
            return Some(structure);
        }
        let form = first_order(&joined.coordinates, &joined.forms, &joined.links());
        let count = joined.coordinates.count();
        let structure = self.keep(Structure::of_states(form, count), "component")?;
        let names = (0..count).map(|dof| joined.name(dof)).collect();
        let structure = self.keep(structure.with_names(names), "component")?;
        let kinds = (0..count).map(|dof| joined.kind(dof)).collect();
        let structure = self.keep(structure.with_kinds(kinds), "component")?;
        self.origin = Origin::Joined(Box::new(joined));
        Some(structure)
    }

    /// The same by sparse matrices.
    pub(super) fn joined_full(&mut self, declared: &'a Components) -> Option<FullModel> {
        let joined = self.joined(declared)?;
        let states = |form: &PartForm| matches!(form, PartForm::States(..));
        if let Some(index) = joined.forms.iter().position(states) {
            let message =
                "a component of first order and [reduction] of the whole exclude one another";
            let error = Diagnostic::error(message)
                .remedy("reduce every component by itself, or take method = \"rubin\" here");
            return self.refuse(&format!("component[{}].reduction", index + 1), error);
        }
        self.joined_matrices(joined)
    }

    fn joined_matrices(&mut self, joined: Joined) -> Option<FullModel> {
        let t = &joined.coordinates;
        let made = second_order(t, &joined.forms, |_| true, &joined.links());
        let (matrices, excited) = self.keep(made, "component")?;
        self.refuse_massless(&joined, &matrices)?;
        self.refuse_loose(&joined, &matrices);
        let component = self.keep(Component::new(matrices), "component")?;
        let influence = match joined.influence() {
            Some(influence) => influence,
            None if component.size() <= SMALL => {
                // Reduced components follow the ground as their masses say.
                let mass = component.matrices.mass.to_dense();
                let solved = mass.cholesky().map(|factor| factor.solve(&excited));
                solved.unwrap_or_else(|| DVector::zeros(component.size()))
            }
            None => {
                let message = format!(
                    "{} DOFs are too many to find how the ground moves them",
                    component.size()
                );
                let error = Diagnostic::error(message);
                let remedy = "give every component a `reduction` of its own";
                return self.refuse("component", error.remedy(remedy));
            }
        };
        let component = self.keep(component.with_influence(influence), "component")?;
        Some(FullModel::of_components(component, joined))
    }

    /// Every component, and the rigid joints resolved.
    fn joined(&mut self, declared: &'a Components) -> Option<Joined> {
        let ports = self.ports(declared);
        let built: Vec<_> = declared
            .components
            .iter()
            .enumerate()
            .map(|(index, component)| {
                let name = Some(component.name.as_str());
                let own = ports.iter().filter(|dof| dof.component() == name);
                let ports = own.filter_map(DofRef::local).collect();
                self.part(component, format!("component[{}]", index + 1), ports)
            })
            .collect();
        let built: Option<Vec<_>> = built.into_iter().collect();
        let (parts, forms): (Vec<Part>, Vec<PartForm>) = built?.into_iter().unzip();
        let mut count = 0;
        let mut starts = Vec::new();
        for form in &forms {
            starts.push(count);
            count += form.size();
        }
        let coordinates = Coordinates::new(count, &[], |_| false).ok()?;
        let mut joined = Joined { parts, forms, starts, coordinates, links: Vec::new() };
        // Whatever is called has to be there before anything is joined.
        let wrong: Vec<Diagnostic> =
            ports.iter().filter_map(|dof| joined.coordinate(dof).err()).collect();
        if !wrong.is_empty() {
            self.found.extend(wrong);
            return None;
        }
        let called = self.called();
        let stays: BTreeSet<usize> =
            called.iter().filter_map(|dof| joined.coordinate(dof).ok()).collect();
        joined.coordinates = self.without_joints(declared, &joined, count, &stays)?;
        joined.links = links(declared, &joined);
        Some(joined)
    }

    /// One component.
    fn part(
        &mut self,
        declared: &'a Declared,
        base: String,
        ports: Vec<DofRef>,
    ) -> Option<(Part, PartForm)> {
        let piece = Some(Piece { declared, base, ports });
        let Self { experiment, source, store, .. } = *self;
        let mut builder =
            Builder { experiment, source, store, found: self.found, origin: Origin::Itself, piece };
        let name = declared.name.clone();
        let part = |origin, names, kinds| Part { name, origin, names, kinds, influence: None };
        let Some(spec) = &declared.reduction else {
            let full = builder.full_model()?;
            let dofs = 0..full.component.size();
            let names = dofs.clone().map(|dof| full.title(dof)).collect();
            let kinds = dofs.map(|dof| full.kind(dof)).collect();
            let Component { matrices, influence } = full.component.clone();
            let form = PartForm::Matrices(matrices, full.component.excited_masses());
            let part = part(Origin::Mesh(Box::new(full)), names, kinds);
            return Some((Part { influence: Some(influence), ..part }, form));
        };
        match spec.method {
            ReductionMethod::DualCraigBampton => {
                builder.refuse_dual();
                None
            }
            ReductionMethod::StateSpace => {
                let structure = builder.first_order(spec)?;
                let form = PartForm::States(*structure.states?, structure.names.len());
                Some((part(builder.origin, structure.names, structure.kinds), form))
            }
            _ => {
                let (reduced, structure) = builder.reduced(spec)?;
                let excited = reduced.model.participation.clone();
                let made = Component::from_structure(&structure);
                let component = builder.keep(made, "reduction")?;
                let form = PartForm::Matrices(component.matrices, excited);
                Some((part(Origin::Reduced(reduced), structure.names, structure.kinds), form))
            }
        }
    }

    /// The DOFs that the file calls outside its components.
    fn called(&self) -> Vec<DofRef> {
        let experiment = self.experiment;
        let mut called: Vec<DofRef> =
            experiment.excitation.forces.iter().map(|force| force.dof.clone()).collect();
        let ends = experiment.partition.interface.iter().flat_map(Interface::ends);
        let elements = experiment.elements().into_iter().flat_map(|element| element.between);
        called.extend(ends.chain(elements).filter_map(|end| end.dof().cloned()));
        called.extend(experiment.partition.inside.iter().cloned());
        let spec = experiment.reduction.iter();
        called.extend(spec.flat_map(|spec| spec.retain.iter().chain(&spec.monitor)).cloned());
        called
    }

    /// The DOFs of components that something else touches.
    fn ports(&self, declared: &Components) -> Vec<DofRef> {
        let joints = declared.joints.iter().flat_map(Joint::dofs).cloned();
        self.called().into_iter().chain(joints).collect()
    }

    /// The coordinates that rigid joints leave.
    fn without_joints(
        &mut self,
        declared: &Components,
        joined: &Joined,
        count: usize,
        stays: &BTreeSet<usize>,
    ) -> Option<Coordinates> {
        let mut rows: Vec<Terms> = Vec::new();
        let mut places = Vec::new();
        for (index, joint) in declared.joints.iter().enumerate() {
            let Joint::Rigid { rigid, direction, arm_m, about } = joint else { continue };
            let path = format!("joint[{}].rigid", index + 1);
            // Those that are not there have been told of.
            let find = |dof: &DofRef| joined.coordinate(dof).ok();
            let (first, second) = (find(&rigid[0])?, find(&rigid[1])?);
            let about = about.as_ref().and_then(find);
            self.check_kinds(joined, first, second, about, &path)?;
            let sign = if *direction == JointDirection::Same { 1.0 } else { -1.0 };
            let mut row = vec![(first, 1.0), (second, -sign)];
            row.extend(about.map(|about| (about, -arm_m.unwrap_or(0.0))));
            rows.push(row);
            places.push(path);
        }
        match Coordinates::new(count, &rows, |q| stays.contains(&q)) {
            Ok(coordinates) => Some(coordinates),
            Err(JointError::Redundant(at)) => {
                let message = "this joint follows from the joints before it";
                let remedy = "remove it: in a closed loop of rigid joints one is too many";
                self.refuse(&places[at], Diagnostic::error(message).remedy(remedy))
            }
            Err(JointError::Locked { joint, coordinate }) => {
                let message = format!(
                    "with the joints before it, this one lets \"{}\" move no more",
                    joined.name_of(coordinate)
                );
                let remedy = "check `direction` and `arm` in this loop of joints, or hold the DOF in \
                              `supports`";
                self.refuse(&places[joint], Diagnostic::error(message).remedy(remedy))
            }
        }
    }

    /// A displacement is no rotation, and an arm is moved by one.
    fn check_kinds(
        &mut self,
        joined: &Joined,
        first: usize,
        second: usize,
        about: Option<usize>,
        path: &str,
    ) -> Option<()> {
        let kind = |q: usize| {
            let (part, place) = joined.place(q);
            // Matrices do not tell what their DOFs are.
            joined.parts[part].origin.knows_kinds().then(|| joined.parts[part].kinds[place])
        };
        let words = |q: usize| match kind(q) {
            Some(DofKind::Rotation) => format!("\"{}\" turns (rad)", joined.name_of(q)),
            _ => format!("\"{}\" moves (m)", joined.name_of(q)),
        };
        let message = match (kind(first), kind(second), about.map(|q| (q, kind(q)))) {
            (Some(a), Some(b), _) if a != b => format!("{} and {}", words(first), words(second)),
            (_, _, Some((q, Some(DofKind::Translation)))) => words(q),
            (Some(DofKind::Rotation), _, Some(_)) => words(first),
            _ => return Some(()),
        };
        let remedy =
            "join DOFs of one kind; `about` is a rotation that moves a displacement by `arm`";
        self.refuse(path, Diagnostic::error(format!("the units differ: {message}")).remedy(remedy))
    }

    /// What has no mass cannot be stepped.
    fn refuse_massless(
        &mut self,
        joined: &Joined,
        matrices: &SecondOrder<SparseMatrix>,
    ) -> Option<()> {
        let masses = matrices.mass.diagonal();
        let Some(dof) = masses.iter().position(|&mass| mass == 0.0) else { return Some(()) };
        let name = joined.name(dof);
        let (part, _) = joined.place(joined.coordinates.independent()[dof]);
        let error = Diagnostic::error(format!("DOF \"{name}\" has no mass"));
        let remedy = "give it one in its component (a link with `mass`), join it to a DOF that has, or \
                      reduce the component";
        self.refuse(&format!("component[{}]", part + 1), error.remedy(remedy))
    }

    /// Refuses DOFs that nothing holds.
    fn refuse_loose(&mut self, joined: &Joined, matrices: &SecondOrder<SparseMatrix>) {
        let n = joined.coordinates.count();
        let mut held = vec![false; n];
        for matrix in [&matrices.stiffness, &matrices.damping] {
            for (i, j, _) in matrix.triplets().filter(|entry| entry.2 != 0.0) {
                (held[i], held[j]) = (true, true);
            }
        }
        let ends = self.experiment.elements().into_iter().flat_map(|element| element.between);
        for end in ends {
            if let Some(Ok(dof)) = end.dof().map(|dof| joined.resolve(dof)) {
                held[dof] = true;
            }
        }
        let laboratory = &self.experiment.partition;
        for end in laboratory.interface.iter().flat_map(Interface::ends) {
            if let Some(Ok(dof)) = end.dof().map(|dof| joined.resolve(dof)) {
                held[dof] = true;
            }
        }
        for dof in (0..n).filter(|&dof| !held[dof]).take(3) {
            let (part, _) = joined.place(joined.coordinates.independent()[dof]);
            let message = format!("nothing holds DOF \"{}\"", joined.name(dof));
            let error = Diagnostic::error(message)
                .remedy("join it, give it stiffness, or list it in `supports`");
            self.refuse::<()>(&format!("component[{}]", part + 1), error);
        }
    }

    /// The components in the laboratory as a specimen: at the interface, and inside.
    pub(super) fn laboratory(
        &mut self,
        structure: &Structure,
        interface: &[RelativeDof],
    ) -> Option<(SecondOrder, Option<InternalDofs>)> {
        const PATH: &str = "partition.component";
        let found = match &self.origin {
            Origin::Mesh(full) => full.joined.as_deref(),
            Origin::Joined(joined) => Some(&**joined),
            _ => None,
        };
        let Some(joined) = found else {
            let error = Diagnostic::error("`component` does not go with [reduction]");
            return self.refuse(PATH, error.remedy("give each component a `reduction` of its own"));
        };
        let names = &self.experiment.partition.components;
        let stands = |part: usize| names.contains(&joined.parts[part].name);
        let (inside, border) = cut(joined, &stands);
        let listed: Vec<Option<usize>> =
            interface.iter().map(|place| place.to.filter(|_| place.from.is_none())).collect();
        let complete =
            border.len() == listed.len() && border.iter().all(|dof| listed.contains(&Some(*dof)));
        let wanted: Vec<String> =
            border.iter().map(|&dof| format!("\"{}\"", joined.name(dof))).collect();
        let second_order_alone = (0..joined.parts.len())
            .all(|part| !stands(part) || matches!(joined.forms[part], PartForm::Matrices(..)));
        let error = if border.is_empty() {
            Some(("everything stands in the laboratory", "leave components to be simulated".into()))
        } else if !complete {
            let remedy = format!("write interface = [{}]", wanted.join(", "));
            Some(("`interface` is not where these components meet the others", remedy))
        } else if !second_order_alone || (structure.states.is_some() && !inside.is_empty()) {
            let remedy = "take method = \"rubin\" for its reductions, or describe the specimen by \
                          `mass`, `damping` and `stiffness` at the interface";
            Some(("a specimen with DOFs inside needs M, C and K", remedy.to_owned()))
        } else {
            None
        };
        if let Some((message, remedy)) = error {
            return self.refuse(PATH, Diagnostic::error(message).remedy(remedy));
        }
        let links: Vec<Link> = joined
            .links
            .iter()
            .filter(|(_, ends)| ends.iter().any(|&part| stands(part)))
            .map(|(link, _)| link.clone())
            .collect();
        let made = second_order(&joined.coordinates, &joined.forms, stands, &links);
        let block = |matrix: &SparseMatrix| {
            DMatrix::from_fn(listed.len(), listed.len(), |i, j| {
                listed[i].zip(listed[j]).map_or(0.0, |(i, j)| matrix.get(i, j))
            })
        };
        let matrices = made.map(|(matrices, _)| matrices.map(block));
        let matrices = self.keep(matrices, PATH)?;
        for matrix in matrices.each() {
            self.symmetric(matrix.clone(), PATH, listed.len())?;
        }
        if inside.is_empty() {
            return Some((matrices, None));
        }
        match InternalDofs::of(structure, &inside, interface) {
            Ok(inside) => Some((matrices, Some(inside))),
            Err(error) => self.refuse(PATH, Diagnostic::error(error.to_string())),
        }
    }
}

/// Springs and dampers between components.
fn links(declared: &Components, joined: &Joined) -> Vec<(Link, Vec<usize>)> {
    let elastic = declared.joints.iter().filter_map(|joint| match joint {
        Joint::Elastic { between, stiffness, damping, .. } => {
            let mut deformation: Terms = Vec::new();
            let mut parts = Vec::new();
            for (end, sign) in between.iter().zip([-1.0, 1.0]) {
                let NodeRef::Dof(dof) = end else { continue };
                // What is not there has been told of.
                let q = joined.coordinate(dof).ok()?;
                parts.push(joined.place(q).0);
                let row = joined.coordinates.row(q).into_iter();
                deformation.extend(row.map(|(place, c)| (place, sign * c)));
            }
            let (stiffness, damping) = (stiffness.unwrap_or(0.0), damping.unwrap_or(0.0));
            Some((Link { deformation, stiffness, damping }, parts))
        }
        Joint::Rigid { .. } => None,
    });
    elastic.collect()
}

/// The DOFs that only the laboratory has, and those at which it meets the rest.
fn cut(joined: &Joined, stands: &dyn Fn(usize) -> bool) -> (Vec<usize>, Vec<usize>) {
    let touched = |laboratory: bool| -> BTreeSet<usize> {
        let mut dofs = BTreeSet::new();
        let parts = joined.starts.iter().zip(&joined.forms).enumerate();
        for (_, (start, form)) in parts.filter(|(part, _)| stands(*part) == laboratory) {
            let rows = (0..form.size()).flat_map(|q| joined.coordinates.row(start + q));
            dofs.extend(rows.map(|(place, _)| place));
        }
        for (link, ends) in &joined.links {
            if ends.iter().any(|&part| stands(part)) == laboratory {
                dofs.extend(link.deformation.iter().map(|&(place, _)| place));
            }
        }
        dofs
    };
    let (own, others) = (touched(true), touched(false));
    (own.difference(&others).copied().collect(), own.intersection(&others).copied().collect())
}

#[cfg(test)]
mod tests;
